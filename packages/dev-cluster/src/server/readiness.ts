import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiServerError } from "./api-server-error.ts";
import type { ServerProcess } from "./server-process.ts";

// All programs are ready after some three seconds on two cores; a busy machine may need a minute.
const START_MS = 120_000;
const POLL_MS = 40;

/** @throws ApiServerError if the program exits, or is not ready in time */
export async function waitUntilReady(
  program: ServerProcess,
  signal: AbortSignal | undefined,
  isReady: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (!(await isReady())) {
    signal?.throwIfAborted();
    if (program.hasExited) throw exitedUnexpectedly(program);
    if (Date.now() > deadline) {
      const message = `${program.program} was not ready after ${START_MS / 1000} s:\n${program.log()}`;
      throw new ApiServerError("NotReady", message);
    }
    await sleep(POLL_MS);
  }
}

export function exitedUnexpectedly(program: ServerProcess): ApiServerError {
  return new ApiServerError("ProgramExited", `${program.program} exited unexpectedly:\n${program.log()}`);
}

/** The server's certificate; empty before its first start, when the server makes it. */
export function readCertificate(folder: string): string {
  try {
    return readFileSync(join(folder, "certs/apiserver.crt"), "utf8");
  } catch {
    return "";
  }
}

/** Whether `/readyz` answers with 200. */
export function answersReady(port: number, ca: string, token: string): Promise<boolean> {
  if (ca === "") return Promise.resolve(false);
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve) => {
    const probe = request(
      { host: "127.0.0.1", port, path: "/readyz", ca, agent: false, timeout: 5_000, headers },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    probe.once("timeout", () => probe.destroy());
    probe.once("error", () => resolve(false));
    probe.end();
  });
}
