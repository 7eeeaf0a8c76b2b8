import { stderr, stdin } from "node:process";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { CliError, usageError } from "../errors/cli-error.ts";
import { InterruptedError } from "./interrupt.ts";

/** Tokens of clouds have a few KiB, and HTTP servers accept headers of 16 KiB. */
const MAX_PASSWORD_BYTES = 64 * 1024;

/**
 * Reads a password: all of stdin without its last line break, or a line of the terminal without showing it.
 *
 * @throws CliError `Usage` without --password-stdin and a terminal; `Failed` for an empty or too long password
 */
export async function readPassword(fromStdin: boolean, prompt: string): Promise<string> {
  if (!fromStdin && !stdin.isTTY)
    throw usageError("stdin is not a terminal: pass --password-stdin and the password on stdin");
  const password = stdin.isTTY ? await readHidden(prompt) : await readAll();
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES)
    throw new CliError("Failed", `the password has more than ${MAX_PASSWORD_BYTES} bytes`);
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

/** Reads a line with the keys that terminals have for it, such as Ctrl-D and backspace. */
function readHidden(prompt: string): Promise<string> {
  stderr.write(prompt);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output, terminal: true, historySize: 0 });
  return new Promise<string>((resolve, reject) => {
    lines.once("SIGINT", () => reject(new InterruptedError("SIGINT")));
    // Ctrl-D, and the end of the terminal.
    lines.once("close", () => resolve(""));
    lines.question("", resolve);
  }).finally(() => {
    lines.close();
    stderr.write("\n");
  });
}
