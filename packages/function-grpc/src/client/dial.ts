import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type SecureContextOptions } from "node:tls";
import { onAbort } from "@xfn/lifetime";

/** The address of a function's gRPC server. */
export interface FunctionTarget {
  /** The target as its author wrote it. */
  readonly text: string;
  readonly address: { readonly path: string } | { readonly host: string; readonly port: number };
  /** Whether the server requires TLS: `https://`. */
  readonly isSecure: boolean;
}

const TARGET = /^(?:(dns|passthrough|https?):\/\/\/?)?\[?([^\]/]+)\]?:(\d{1,5})$/;
const MAX_PORT = 65_535;

/**
 * Parses the target of a function: `HOST:PORT`, `dns:///HOST:PORT`, `http://HOST:PORT` and `unix:PATH` without TLS,
 * `https://HOST:PORT` with TLS.
 *
 * @returns undefined if it has none of these forms
 */
export function parseTarget(text: string): FunctionTarget | undefined {
  if (text.startsWith("unix:")) {
    const path = text.replace(/^unix:(\/\/)?/, "");
    return path === "" ? undefined : { text, address: { path }, isSecure: false };
  }
  const [, scheme, host = "", digits = ""] = TARGET.exec(text) ?? [];
  const port = Number(digits);
  if (host === "" || port === 0 || port > MAX_PORT) return undefined;
  return { text, address: { host, port }, isSecure: scheme === "https" };
}

/** Certificates for a target with TLS, in PEM. */
export type TargetCertificates = Pick<SecureContextOptions, "ca" | "cert" | "key">;

/** Connects to a target. Rejects with the error of the socket, or after the signal aborted. */
export async function dial(
  { address, isSecure }: FunctionTarget,
  signal: AbortSignal,
  certificates: TargetCertificates = {},
): Promise<Socket> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = isSecure
    ? connectTls({ ...address, ...certificates, ALPNProtocols: ["h2"] }, () => resolve(socket))
    : connectTcp({ ...address }, () => resolve(socket));
  // Otherwise a frame waits for the acknowledgement of the one before. TLS ignores the option of `connect`.
  socket.setNoDelay();
  const forget = onAbort(signal, () => void socket.destroy(new Error("the connection was not made in time")));
  socket.once("error", reject);
  try {
    return await promise;
  } finally {
    forget();
    socket.removeListener("error", reject);
  }
}
