import type { Endpoint } from "../setup/endpoint.ts";
import { RunnerSetupError } from "../setup/setup-error.ts";

/**
 * How a listener authenticates callers: by permission to open the socket's file, by a token, by a certificate, or not
 * at all.
 */
export type Authentication = "socket" | "token" | "mtls" | "none";

/** The operator's options for authentication. */
export interface AuthenticationOptions {
  readonly token: boolean;
  readonly tls: boolean;
  /** TLS that requires certificates of a CA. */
  readonly clientCa: boolean;
  readonly insecureNoAuth: boolean;
  readonly insecurePlaintext: boolean;
}

/**
 * Decides how a listener authenticates its callers. A function in the runner's network can reach every abstract and
 * TCP socket of the runner. These sockets therefore require a secret that the function does not have.
 *
 * @throws RunnerSetupError `AuthenticationRequired`, `PlaintextRefused`
 */
export function authenticationOf(endpoint: Endpoint, options: AuthenticationOptions): Authentication {
  if (endpoint.kind === "path") return "socket";
  if (endpoint.kind === "tcp" && options.clientCa) return "mtls";
  if (options.token) {
    const encrypted = options.tls || options.insecurePlaintext;
    if (endpoint.kind === "abstract" || endpoint.loopback || encrypted) return "token";
    const way = "set tls, or insecurePlaintext if the network itself encrypts";
    throw new RunnerSetupError("PlaintextRefused", `tokens for ${endpoint.text} would be sent in the clear: ${way}`);
  }
  if (options.insecureNoAuth) return "none";
  throw new RunnerSetupError(
    "AuthenticationRequired",
    `every process in the runner's network can reach ${endpoint.text}, functions included: set a token file` +
      `${endpoint.kind === "tcp" ? " or tls with a client CA" : ""}, listen on a path socket, or set insecureNoAuth`,
  );
}
