import { randomInt } from "node:crypto";
import { createServer } from "node:net";

// Below where kernels take ports for connections (32768 on Linux): a server that is started again finds its port free.
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;
const TRIES = 50;

/**
 * A port of 127.0.0.1 that nobody listens at. Between this and its use somebody may take it, so whoever uses it tries again with
 * another one.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (await isFree(port)) return port;
  }
  throw new Error(`none of ${TRIES} ports of 127.0.0.1 is free`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
