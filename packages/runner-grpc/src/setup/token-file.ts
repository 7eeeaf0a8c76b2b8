import { createHash, timingSafeEqual } from "node:crypto";
import { messageOf } from "@xfn/errors";
import { readBoundedFile } from "./bounded-file.ts";
import { RunnerSetupError } from "./setup-error.ts";

// Enough for hundreds of tokens.
const MAX_TOKEN_FILE_BYTES = 16 * 1024;

// 16 characters of base64 encode 96 bits, which cannot be guessed through a socket.
const MIN_TOKEN_LENGTH = 16;

// RFC 6750, section 2.1.
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The tokens of a file. The file is read for each call, so that a new token is valid at once. */
export interface TokenFile {
  /** The first token, which a client sends. @throws RunnerSetupError `TokenUnusable` */
  current(): string;
  /**
   * Whether the file contains a token, compared in constant time. A server accepts any token in the file. To rotate a
   * token, put the new one above the old one. Remove the old one when all clients use the new one.
   *
   * @throws RunnerSetupError `TokenUnusable`
   */
  accepts(token: string): boolean;
}

/** Opens a file of tokens, one on each line, and reads it once to check it. @throws RunnerSetupError `TokenUnusable` */
export function openTokenFile(path: string): TokenFile {
  readTokens(path);
  return {
    current: () => readTokens(path)[0],
    accepts: (token) => {
      const given = digest(token);
      let found = false;
      // Compare all tokens, even after a match. timingSafeEqual requires equal lengths, which digests have.
      for (const known of readTokens(path)) found = timingSafeEqual(given, digest(known)) || found;
      return found;
    },
  };
}

function readTokens(path: string): [string, ...string[]] {
  const [first, ...others] = read(path)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (first === undefined) throw unusable(path, "it is empty");
  for (const token of [first, ...others]) {
    if (token.length < MIN_TOKEN_LENGTH) throw unusable(path, `a token has fewer than ${MIN_TOKEN_LENGTH} characters`);
    if (!TOKEN.test(token)) throw unusable(path, "a token has characters that RFC 6750 does not allow");
  }
  return [first, ...others];
}

function read(path: string): string {
  try {
    return readBoundedFile(path, MAX_TOKEN_FILE_BYTES).toString("utf8");
  } catch (cause) {
    throw unusable(path, messageOf(cause), cause);
  }
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token, "utf8").digest();
}

function unusable(path: string, why: string, cause?: unknown): RunnerSetupError {
  const way = "it must have one token a line, such as the output of `openssl rand -hex 32`";
  return new RunnerSetupError("TokenUnusable", `the token file ${path} is not usable: ${why}; ${way}`, { cause });
}
