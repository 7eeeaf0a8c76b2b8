import { spawn } from "node:child_process";
import { onAbort } from "@xfn/lifetime";
import type { RegistryAuth } from "@xfn/runner-contract";
import { ImageError } from "../base/errors.ts";
import { parseJsonObject } from "../base/json.ts";
import { abortError } from "../base/single-flight.ts";

export interface HelperOptions {
  /** The helpers' environment, and the source of `DOCKER_CONFIG`, `HOME` and `PATH`. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** A helper is killed after this time. Default 30,000 ms: some request a token from a cloud. */
  readonly helperTimeoutMs?: number | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** A response is a name and a secret; cloud tokens have a few KiB. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** The name becomes part of a program's name, and must not be a path. */
const HELPER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** The message of a helper without credentials for the server (docker-credential-helpers, `credentials/error.go`). */
const NOT_FOUND = /credentials not found/i;
/** With this user name, the secret is an OAuth2 refresh token. */
const TOKEN_USER = "<token>";

/**
 * Runs `docker-credential-NAME get` for one server. The protocol of docker-credential-helpers has the server on stdin
 * and JSON on stdout. Returns undefined if the helper has no credentials.
 *
 * @throws ImageError InvalidCredentials, Aborted
 */
export async function credentialHelper(
  name: string,
  server: string,
  options: AskOptions = {},
): Promise<RegistryAuth | undefined> {
  const text = await ask(name, "get", server, options);
  if (text === undefined) return undefined;
  const program = `docker-credential-${name}`;
  const answer = parseJsonObject(text);
  if (answer === undefined) throw failed(program, "its response is not a JSON object");
  const { Username: username, Secret: secret } = answer;
  if (typeof username !== "string" || typeof secret !== "string")
    throw failed(program, "its response has no Username and Secret");
  if (username === "" && secret === "") return undefined;
  return username === TOKEN_USER ? { identityToken: secret } : { username, password: secret };
}

/** Stores credentials with `docker-credential-NAME store`. @throws ImageError InvalidCredentials, Aborted */
export async function storeWithHelper(
  name: string,
  server: string,
  { username, password }: { readonly username: string; readonly password: string },
  options: AskOptions = {},
): Promise<void> {
  const credentials = JSON.stringify({ ServerURL: server, Username: username, Secret: password });
  await ask(name, "store", credentials, options);
}

/**
 * Removes credentials with `docker-credential-NAME erase`. Returns whether there were some.
 *
 * @throws ImageError InvalidCredentials, Aborted
 */
export async function eraseWithHelper(name: string, server: string, options: AskOptions = {}): Promise<boolean> {
  // Most helpers also succeed without credentials.
  if ((await credentialHelper(name, server, options)) === undefined) return false;
  return (await ask(name, "erase", server, options)) !== undefined;
}

type AskOptions = HelperOptions & { readonly signal?: AbortSignal | undefined };

/** The response of a helper; undefined if it has no credentials. */
async function ask(name: string, action: string, input: string, options: AskOptions): Promise<string | undefined> {
  if (!HELPER_NAME.test(name)) throw failed(JSON.stringify(name.slice(0, 80)), "invalid name of a helper");
  const program = `docker-credential-${name}`;
  const { code, stdout } = await run(program, action, input, options);
  const text = stdout.toString("utf8").trim();
  if (code !== 0) {
    if (NOT_FOUND.test(text)) return undefined;
    // The protocol has error messages on stdout.
    const message =
      text
        .split("\n", 1)[0]
        ?.replace(/[^\x20-\x7e]/g, "?")
        .slice(0, 200) ?? "";
    throw failed(program, `it exited with ${code}${message === "" ? "" : `: ${message}`}`);
  }
  return text;
}

function run(
  program: string,
  action: string,
  input: string,
  { env = process.env, helperTimeoutMs = DEFAULT_TIMEOUT_MS, signal }: AskOptions,
): Promise<{ code: number | string; stdout: Buffer }> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortError(signal));
      return;
    }
    // A separate process group, because many helpers are scripts whose children must be killed too.
    const child = spawn(program, [action], { env, stdio: ["pipe", "pipe", "ignore"], detached: true });
    const chunks: Buffer[] = [];
    let length = 0;
    const kill = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has already exited.
      }
    };
    const settle = (outcome: () => void): void => {
      clearTimeout(timer);
      forget();
      outcome();
    };
    const stop = (error: Error): void =>
      settle(() => {
        kill();
        child.stdout.destroy();
        reject(error);
      });
    const timer = setTimeout(() => stop(failed(program, `no response after ${helperTimeoutMs} ms`)), helperTimeoutMs);
    const forget = onAbort(signal, () => stop(abortError(signal)));
    child.once("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "ENOENT" ? "the program is not on the PATH" : error.message;
      settle(() => reject(failed(program, why)));
    });
    child.stdout.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_ANSWER_BYTES) stop(failed(program, `a response of more than ${MAX_ANSWER_BYTES} bytes`));
      else chunks.push(chunk);
    });
    child.once("close", (code, signalName) =>
      settle(() => resolve({ code: code ?? signalName ?? "no exit code", stdout: Buffer.concat(chunks) })),
    );
    // A helper may respond without reading its stdin.
    child.stdin.on("error", () => {});
    child.stdin.end(`${input}\n`);
  });
}

function failed(program: string, why: string): ImageError {
  return new ImageError(
    "InvalidCredentials",
    `credential helper ${program}: ${why}; check credsStore and credHelpers in docker's config.json`,
  );
}
