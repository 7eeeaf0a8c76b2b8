import { readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "@xfn/errors";
import { ServeOptionsError } from "../errors/serve-error.ts";
import { METHOD_V1, METHOD_V1BETA1 } from "../message/methods.ts";
import { runMethod, type ServedFunction } from "./run-method.ts";
import { serveOptions } from "./serve-options.ts";
import { UnaryServer, type UnaryServerOptions } from "./unary-server.ts";

/** Milliseconds that calls in progress have after SIGTERM: less than Kubernetes gives a pod. */
const GRACE_MS = 20_000;
/** Clients that never succeed must not fill the log. */
const MAX_LOGGED = 100;

/**
 * Serves a function over gRPC until SIGTERM or SIGINT, with the flags of this process. The server then finishes the
 * calls in progress, and the process exits.
 *
 * @throws {ServeOptionsError} for unusable flags or certificates
 */
export async function serveGrpc(fn: ServedFunction): Promise<void> {
  const { listen, certificates, maxMessageBytes } = serveOptions(process.argv.slice(2), process.env);
  const method = runMethod(fn);
  // A closed log must not end the server.
  process.stderr.on("error", () => undefined);
  let logged = 0;
  const server = new UnaryServer({
    methods: new Map([
      [METHOD_V1, method],
      [METHOD_V1BETA1, method],
    ]),
    maxMessageBytes,
    tls: certificates === undefined ? undefined : readCertificates(certificates),
    onError: (message) => {
      if (++logged <= MAX_LOGGED) log(`a connection failed: ${message}`);
    },
  });
  const stop = (): void => {
    log("stopping");
    // Timers and connections of the function must not keep the process running.
    void server.close(GRACE_MS).finally(() => process.exit());
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  const address = await server.listen(listen);
  log(`serving the function on ${address}, ${certificates === undefined ? "without TLS" : "with mutual TLS"}`);
}

function log(message: string): void {
  process.stderr.write(`xfn: ${message}\n`);
}

function readCertificates(folder: string): UnaryServerOptions["tls"] {
  const read = (file: string): string => {
    try {
      return readFileSync(join(folder, file), "utf8");
    } catch (error) {
      const why = messageOf(error);
      throw new ServeOptionsError(`cannot read the certificates of the server: ${why}`, { cause: error });
    }
  };
  return { cert: read("tls.crt"), key: read("tls.key"), ca: read("ca.crt") };
}
