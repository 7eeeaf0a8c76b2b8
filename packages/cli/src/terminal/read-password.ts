import { stderr, stdin } from "node:process";
import { CliError, usageError } from "../errors/cli-error.ts";

/** Tokens of clouds have a few KiB, and HTTP servers accept headers of 16 KiB. */
const MAX_PASSWORD_BYTES = 64 * 1024;

const INTERRUPT = "\u0003";

/**
 * Reads a password: all of stdin without its last line break, or a line of the terminal without showing it.
 *
 * @throws CliError `Usage` without --password-stdin and a terminal; `Failed` for an empty or too long password
 */
export async function readPassword(fromStdin: boolean, prompt: string): Promise<string> {
  if (!fromStdin && !stdin.isTTY)
    throw usageError("stdin is not a terminal: pass --password-stdin and the password on stdin");
  const password = stdin.isTTY ? await readHidden(prompt) : await readAll();
  if (password === "") throw new CliError("Failed", "the password is empty");
  if (/[\r\n\0]/.test(password)) throw new CliError("Failed", "the password has several lines");
  return password;
}

async function readAll(): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_PASSWORD_BYTES)
      throw new CliError("Failed", `the password has more than ${MAX_PASSWORD_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}

function readHidden(prompt: string): Promise<string> {
  stderr.write(prompt);
  stdin.setRawMode(true);
  return new Promise((resolve, reject) => {
    let text = "";
    const stop = (): void => {
      stdin.off("data", read).setRawMode(false).pause();
      stderr.write("\n");
    };
    const read = (bytes: Buffer): void => {
      for (const character of bytes.toString("utf8")) {
        if (character === INTERRUPT) {
          stop();
          reject(new CliError("Failed", "interrupted"));
          return;
        }
        if (character === "\r" || character === "\n" || text.length >= MAX_PASSWORD_BYTES) {
          stop();
          resolve(text);
          return;
        }
        // Backspace, as terminals send it.
        text = character === "\u007f" || character === "\b" ? text.slice(0, -1) : text + character;
      }
    };
    stdin.on("data", read).resume();
  });
}
