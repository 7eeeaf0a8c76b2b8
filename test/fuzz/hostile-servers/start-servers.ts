import { fork } from "node:child_process";
import { join } from "node:path";
import type { Ports } from "./servers.ts";

/** Running servers. */
export interface HostileServers extends Disposable {
  readonly ports: Ports;
}

export async function startServers(): Promise<HostileServers> {
  const child = fork(join(import.meta.dirname, "servers.ts"), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const { promise, resolve, reject } = Promise.withResolvers<Ports>();
  child.once("message", (ports) => resolve(ports as Ports));
  child.once("exit", (code) => reject(new Error(`the hostile servers exited with ${code}`)));
  const ports = await promise;
  child.channel?.unref();
  child.unref();
  return { ports, [Symbol.dispose]: () => void child.kill("SIGKILL") };
}
