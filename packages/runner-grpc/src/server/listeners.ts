import type { Http2Server } from "node:http2";
import { experimental, type Server, ServerCredentials } from "@grpc/grpc-js";
import { CertificateWatcher } from "../setup/certificate-files.ts";
import { type Endpoint, parseEndpoint } from "../setup/endpoint.ts";
import { RunnerSetupError } from "../setup/setup-error.ts";
import { listenersOf } from "./grpc-js-internals.ts";
import { type Authentication, authenticationOf } from "./listener-policy.ts";
import type { RunnerServerOptions } from "./options.ts";
import { listenOnPath, type SocketFile } from "./path-socket.ts";

// Callers need one connection each. A function in the runner's network could open any number, at some 50 KB each.
const MAX_CONNECTIONS = 1_000;

/** An address to listen on, and the authentication of its callers. */
export interface Listener {
  readonly endpoint: Endpoint;
  readonly authentication: Authentication;
}

type OnListener = (listener: Http2Server) => void;

/** The addresses of a server. @throws RunnerSetupError */
export class Listeners {
  readonly all: readonly Listener[];
  readonly #tls: CertificateWatcher | undefined;
  readonly #mutual: boolean;
  readonly #files: SocketFile[] = [];

  constructor(options: RunnerServerOptions) {
    const { addresses, tls, refreshMs } = options;
    this.#tls = tls && new CertificateWatcher(tls, refreshMs, (message) => options.onWarning?.(message));
    this.#mutual = tls?.caFile !== undefined;
    this.all = addresses.map((text) => {
      const endpoint = parseEndpoint(text);
      const authentication = authenticationOf(endpoint, {
        token: options.tokenFile !== undefined,
        tls: tls !== undefined,
        clientCa: this.#mutual,
        insecureNoAuth: options.insecureNoAuth === true,
        insecurePlaintext: options.insecurePlaintext === true,
      });
      return { endpoint, authentication };
    });
    if (this.all.length === 0) {
      throw new RunnerSetupError("InvalidOption", "addresses is empty: name at least one address to listen on");
    }
  }

  /**
   * Listens with a server.
   *
   * @param onListener called for each listener, before it accepts a connection
   * @returns the address, with the chosen port for port 0
   * @throws RunnerSetupError
   */
  async bind(server: Server, { endpoint }: Listener, onListener: OnListener): Promise<string> {
    if (endpoint.kind === "path") {
      this.#files.push(await listenOnPath(endpoint.path, (target) => this.#bind(server, endpoint, target, onListener)));
      return endpoint.text;
    }
    const port = await this.#bind(server, endpoint, endpoint.target, onListener);
    const isChosen = endpoint.kind === "tcp" && endpoint.port === 0;
    return isChosen ? endpoint.text.replace(/\d+$/, String(port)) : endpoint.text;
  }

  /** Removes the files of path sockets. */
  async removeFiles(): Promise<void> {
    await Promise.all(this.#files.splice(0).map((file) => file.remove()));
  }

  #bind(server: Server, endpoint: Endpoint, target: string, onListener: OnListener): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    server.bindAsync(target, this.#credentials(endpoint), (cause, port) => {
      if (cause === null) {
        for (const listener of listenersOf(server)) {
          listener.maxConnections = MAX_CONNECTIONS;
          onListener(listener);
        }
        return resolve(port);
      }
      const code = cause.message.includes("EADDRINUSE") ? "AddressInUse" : "ListenFailed";
      reject(new RunnerSetupError(code, `cannot listen on ${endpoint.text}: ${cause.message}`, { cause }));
    });
    return promise;
  }

  #credentials(endpoint: Endpoint): ServerCredentials {
    if (endpoint.kind !== "tcp" || this.#tls === undefined) return ServerCredentials.createInsecure();
    // grpc-js declares the parameters in the wrong order; the identity comes first.
    const create = experimental.createCertificateProviderServerCredentials;
    return create(this.#tls, this.#mutual ? this.#tls : null, this.#mutual);
  }
}
