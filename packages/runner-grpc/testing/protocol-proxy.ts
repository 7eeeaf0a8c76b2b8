import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Serving } from "./serving.ts";

/** The proxy's treatment of a connection that begins with a plain call. */
export type PlainPolicy =
  | "pass"
  /** Closes it, as a gRPC-only server does. */
  | "close"
  /** Ignores it, as a firewall does. */
  | "ignore";

/** A socket in front of a server, which records the protocols of its callers. */
export interface ProtocolProxy {
  readonly endpoint: string;
  /** The protocol of each connection so far. */
  readonly seen: ("gRPC" | "plain")[];
  /** The number of open connections. */
  open(): number;
}

/** Listens on a path socket in front of `runner.sock`, or on TCP in front of a port. */
export async function protocolProxy(
  serving: Serving,
  plain: PlainPolicy = "pass",
  port?: number,
): Promise<ProtocolProxy> {
  const seen: ProtocolProxy["seen"] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (caller) => {
    sockets.add(caller.on("error", () => undefined).on("close", () => sockets.delete(caller)));
    caller.once("data", (first) => {
      const protocol = first.toString("latin1").startsWith("PRI") ? "gRPC" : "plain";
      seen.push(protocol);
      if (protocol === "plain" && plain !== "pass") {
        if (plain === "close") caller.destroy();
        else caller.resume().once("end", () => caller.destroy());
        return;
      }
      const where = port === undefined ? { path: serving.path("runner.sock") } : { port, host: "127.0.0.1" };
      const runner = connect({ ...where, allowHalfOpen: true });
      sockets.add(runner.on("close", () => sockets.delete(runner)));
      runner.on("error", () => caller.destroy()).on("close", () => caller.destroy());
      caller.on("close", () => runner.destroy());
      runner.write(first);
      caller.pipe(runner).pipe(caller);
    });
  });
  const path = serving.path("proxy.sock");
  await once(port === undefined ? server.listen(path) : server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address() as AddressInfo | string;
  const endpoint = typeof address === "string" ? `unix:${path}` : `127.0.0.1:${address.port}`;
  return { endpoint, seen, open: () => sockets.size };
}
