import { spawn } from "node:child_process";
import type { RegistryAuth } from "@xfn/runner-contract";
import { ImageError } from "../base/errors.ts";
import { parseJsonObject } from "../base/json.ts";
import { abortError } from "../base/single-flight.ts";

export interface HelperOptions {
  /** What helpers are started with, and where `DOCKER_CONFIG`, `HOME` and `PATH` are read. Default: this process's. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** A helper that takes longer is killed. Default 30,000 ms: some ask a cloud for a token. */
  readonly helperTimeoutMs?: number | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** An answer is a name and a secret; tokens of clouds have some KiB. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** It becomes the name of a program: never a path. */
const HELPER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** What helpers say who have nothing (docker-credential-helpers, `credentials/error.go`). */
const NOT_FOUND = /credentials not found/i;
/** The name that means that the secret is an OAuth2 refresh token. */
const TOKEN_USER = "<token>";

/**
 * Asks `docker-credential-NAME get` for the credentials of one server (the protocol of docker-credential-helpers: the server on
 * stdin, JSON on stdout). Undefined where it has none.
 *
 * @throws ImageError InvalidCredentials, Aborted
 */
export async function credentialHelper(
  name: string,
  server: string,
  options: HelperOptions & { readonly signal?: AbortSignal | undefined } = {},
): Promise<RegistryAuth | undefined> {
  if (!HELPER_NAME.test(name)) throw failed(JSON.stringify(name.slice(0, 80)), "this cannot be the name of a helper");
  const program = `docker-credential-${name}`;
  const { code, stdout } = await run(program, server, options);
  const text = stdout.toString("utf8").trim();
  if (code !== 0) {
    if (NOT_FOUND.test(text)) return undefined;
    // By the protocol an error's words are on stdout.
    const words =
      text
        .split("\n", 1)[0]
        ?.replace(/[^\x20-\x7e]/g, "?")
        .slice(0, 200) ?? "";
    throw failed(program, `it ended with ${code}${words === "" ? "" : `: ${words}`}`);
  }
  const answer = parseJsonObject(text);
  if (answer === undefined) throw failed(program, "its answer is not a JSON object");
  const { Username: username, Secret: secret } = answer;
  if (typeof username !== "string" || typeof secret !== "string")
    throw failed(program, "its answer has no Username and Secret");
  if (username === "" && secret === "") return undefined;
  return username === TOKEN_USER ? { identityToken: secret } : { username, password: secret };
}

function run(
  program: string,
  server: string,
  {
    env = process.env,
    helperTimeoutMs = DEFAULT_TIMEOUT_MS,
    signal,
  }: HelperOptions & { signal?: AbortSignal | undefined },
): Promise<{ code: number | string; stdout: Buffer }> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortError(signal));
      return;
    }
    // A group of its own, so that what a helper has started (often it is a script) ends with it.
    const child = spawn(program, ["get"], { env, stdio: ["pipe", "pipe", "ignore"], detached: true });
    const chunks: Buffer[] = [];
    let length = 0;
    const kill = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    };
    const settle = (outcome: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      outcome();
    };
    const stop = (error: Error): void =>
      settle(() => {
        kill();
        child.stdout.destroy();
        reject(error);
      });
    const abort = (): void => stop(abortError(signal));
    const timer = setTimeout(() => stop(failed(program, `no answer after ${helperTimeoutMs} ms`)), helperTimeoutMs);
    signal?.addEventListener("abort", abort, { once: true });
    child.once("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "ENOENT" ? "there is no such program on the PATH" : error.message;
      settle(() => reject(failed(program, why)));
    });
    child.stdout.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_ANSWER_BYTES) stop(failed(program, `an answer of more than ${MAX_ANSWER_BYTES} bytes`));
      else chunks.push(chunk);
    });
    child.once("close", (code, signalName) =>
      settle(() => resolve({ code: code ?? signalName ?? "nothing", stdout: Buffer.concat(chunks) })),
    );
    // A helper that does not read is none of our concern: its answer counts.
    child.stdin.on("error", () => {});
    child.stdin.end(`${server}\n`);
  });
}

function failed(program: string, why: string): ImageError {
  return new ImageError(
    "InvalidCredentials",
    `credential helper ${program}: ${why}; see credsStore and credHelpers in docker's config.json`,
  );
}
