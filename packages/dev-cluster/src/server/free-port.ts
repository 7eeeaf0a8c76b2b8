import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { ApiServerError } from "./api-server-error.ts";

// Below the kernel's ephemeral ports (from 32768 on Linux), so that a restarted server finds its port free.
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;
const TRIES = 50;

/**
 * Finds a port of 127.0.0.1 without a listener. Another process may take it before its use, so callers retry with
 * another port.
 *
 * @throws ApiServerError `NoFreePort`
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (await isFree(port)) return port;
  }
  throw new ApiServerError("NoFreePort", `none of ${TRIES} ports of 127.0.0.1 is free`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
