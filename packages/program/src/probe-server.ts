import { createServer } from "node:http";
import { listen } from "./listen.ts";
import type { ListenAddress } from "./listen-address.ts";

/** The answers of the server. */
export interface Probes {
  /** Why the program cannot do its work now; undefined if it can. */
  readonly notReady: () => string | undefined;
  readonly metrics: () => Promise<{ type: string; text: string }>;
}

/** A listening server of probes and metrics. */
export interface ProbeServer {
  /** `http://HOST:PORT` */
  readonly url: string;
  close(): Promise<void>;
}

// Probes and scrapers are few. More connections come from other clients.
const MAX_CONNECTIONS = 64;
// A scraper sends its request at once, and the answer takes milliseconds.
const REQUEST_TIMEOUT_MS = 10_000;

/** Serves only `/livez` (the process answers), `/readyz` (it can do its work) and `/metrics`. */
export async function startProbeServer(address: ListenAddress, probes: Probes): Promise<ProbeServer> {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      const answer = (status: number, text: string, type = "text/plain; charset=utf-8"): void => {
        response.writeHead(status, {
          "content-type": type,
          "cache-control": "no-store",
          "x-content-type-options": "nosniff",
        });
        response.end(request.method === "HEAD" ? undefined : text);
      };
      if (request.method !== "GET" && request.method !== "HEAD") return answer(405, "GET only\n");
      switch (request.url?.split("?")[0]) {
        case "/livez":
          return answer(200, "ok\n");
        case "/readyz": {
          const reason = probes.notReady();
          return reason === undefined ? answer(200, "ok\n") : answer(503, `not ready: ${reason}\n`);
        }
        case "/metrics":
          probes.metrics().then(
            ({ type, text }) => answer(200, text, type),
            () => answer(500, "metrics cannot be read\n"),
          );
          return;
        default:
          return answer(404, "there are /livez, /readyz and /metrics\n");
      }
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  const { port, close } = await listen(server, address, { title: "metrics", flag: "--metrics-address" });
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return { url: `http://${host}:${port}`, close };
}
