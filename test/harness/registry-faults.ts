import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request on its way to the registry. */
export interface FaultyRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The number of earlier requests with this method and path. */
  readonly earlier: number;
}

/** The fault of a request; `undefined` passes it on unchanged. */
export type Fault =
  /** Resets the connection before the response. */
  | { readonly kind: "reset" }
  /** Sends this response without the registry. */
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
    }
  /** Sends so many bytes of the registry's response body, then resets the connection. */
  | { readonly kind: "cut"; readonly bytes: number }
  /** Flips one bit of the registry's response body. */
  | { readonly kind: "flip"; readonly at: number }
  /** Passes the request on, and drops the response. */
  | { readonly kind: "lose-answer" };

/** A proxy in front of a real registry that injects faults. */
export interface FaultyRegistry extends AsyncDisposable {
  /** `127.0.0.1:PORT` */
  readonly host: string;
  /** `METHOD PATH` of each request. */
  readonly requests: string[];
  /** Total bytes of request bodies. */
  sentBytes(): number;
  /** Returns the fault of each request. */
  fault: (request: FaultyRequest) => Fault | undefined;
}

/** Starts a proxy for the registry at `upstream` (`127.0.0.1:PORT`). */
export async function faultyRegistry(upstream: string): Promise<FaultyRegistry> {
  const requests: string[] = [];
  const counts = new Map<string, number>();
  let sent = 0;
  const server = createServer((incoming, response) => {
    const { method = "GET", url: path = "/", headers } = incoming;
    const line = `${method} ${path}`;
    requests.push(line);
    const earlier = counts.get(line) ?? 0;
    counts.set(line, earlier + 1);
    const fault = registry.fault({ method, path, headers, earlier });
    if (fault?.kind === "reset") {
      incoming.socket.resetAndDestroy();
      return;
    }
    if (fault?.kind === "answer") {
      incoming.resume();
      response.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    const [hostname, port] = upstream.split(":");
    // Keep the Host header, so that the registry's own URLs lead here.
    const onward = httpRequest({ hostname, port, method, path, headers }, (answer) => {
      if (fault?.kind === "lose-answer") {
        answer.resume();
        answer.once("end", () => incoming.socket.resetAndDestroy());
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      let at = 0;
      answer.on("data", (chunk: Buffer) => {
        const start = at;
        at += chunk.length;
        if (fault?.kind === "cut" && at >= fault.bytes) {
          cut(response, chunk.subarray(0, fault.bytes - start));
          answer.destroy();
          return;
        }
        if (fault?.kind === "flip" && fault.at >= start && fault.at < at) {
          const byte = chunk[fault.at - start] as number;
          chunk[fault.at - start] = byte ^ 1;
        }
        if (!response.write(chunk)) {
          answer.pause();
          response.once("drain", () => answer.resume());
        }
      });
      answer.once("end", () => response.end());
      answer.once("error", () => response.destroy());
    });
    onward.once("error", () => response.destroy());
    incoming.on("data", (chunk: Buffer) => {
      sent += chunk.length;
    });
    incoming.once("error", () => onward.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const registry: FaultyRegistry = {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    sentBytes: () => sent,
    fault: () => undefined,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return registry;
}

// Flush all written data before the end.
function cut(response: ServerResponse, last: Buffer): void {
  response.write(last, () => setImmediate(() => response.socket?.resetAndDestroy()));
}
