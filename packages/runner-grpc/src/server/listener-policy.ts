import type { Endpoint } from "../setup/endpoint.ts";
import { RunnerSetupError } from "../setup/setup-error.ts";

/** How callers of a listener prove who they are: by being allowed to open the socket's file, by a token, a certificate, or not at all. */
export type Authentication = "socket" | "token" | "mtls" | "none";

/** What an operator gave to authenticate callers with. */
export interface AuthenticationOptions {
  readonly token: boolean;
  readonly tls: boolean;
  /** TLS that asks for certificates of a CA. */
  readonly clientCa: boolean;
  readonly insecureNoAuth: boolean;
  readonly insecurePlaintext: boolean;
}

/**
 * Decides how a listener authenticates its callers. A function that was given the runner's network can reach every abstract and TCP
 * socket of the runner, so that those ask for something that it does not have (design section 4).
 *
 * @throws RunnerSetupError `AuthenticationRequired`, `PlaintextRefused`
 */
export function authenticationOf(endpoint: Endpoint, options: AuthenticationOptions): Authentication {
  if (endpoint.kind === "path") return "socket";
  if (endpoint.kind === "tcp" && options.clientCa) return "mtls";
  if (options.token) {
    const encrypted = options.tls || options.insecurePlaintext;
    if (endpoint.kind === "abstract" || endpoint.loopback || encrypted) return "token";
    const way = "give tls, or insecurePlaintext where the network itself encrypts";
    throw new RunnerSetupError("PlaintextRefused", `tokens for ${endpoint.text} would be sent in the clear: ${way}`);
  }
  if (options.insecureNoAuth) return "none";
  throw new RunnerSetupError(
    "AuthenticationRequired",
    `${endpoint.text} can be reached by every process in the runner's network, functions too: give a token file` +
      `${endpoint.kind === "tcp" ? " or tls with a CA of callers" : ""}, listen on a socket with a path, or say insecureNoAuth`,
  );
}
