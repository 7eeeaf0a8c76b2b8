import { isIPv4, isIPv6 } from "node:net";
import { resolve } from "node:path";
import { RunnerSetupError } from "./setup-error.ts";

/** The abstract socket on which Crossplane v1.11 to v1.13 expects a runner. */
export const DEFAULT_ENDPOINT = "unix:///@crossplane/fn/default.sock";

/**
 * An address to dial or to listen on. `text` is the original spelling, `target` the one that @grpc/grpc-js
 * understands.
 */
export type Endpoint =
  | { readonly kind: "path"; readonly text: string; readonly target: string; readonly path: string }
  | { readonly kind: "abstract"; readonly text: string; readonly target: string; readonly socket: string }
  | {
      readonly kind: "tcp";
      readonly text: string;
      readonly target: string;
      readonly host: string;
      readonly port: number;
      /** Whether traffic stays on this machine. */
      readonly loopback: boolean;
    };

// sun_path has 108 bytes (unix(7)). One is the NUL that ends a path or begins an abstract name.
const MAX_SOCKET_NAME_BYTES = 107;

// A DNS host name (RFC 1123) or an IPv4 address. The length bounds the text before it is parsed.
const HOST = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})$/;
const MAX_PORT = 65_535;

/**
 * Parses an endpoint in any spelling of gRPC's implementations and Crossplane:
 *
 * - abstract sockets: `unix:///@crossplane/fn/default.sock`, `unix:@NAME`, `unix-abstract:NAME`, `@NAME`
 * - path sockets: `unix:///run/x.sock`, `unix:/run/x.sock`, `unix:x.sock` (below the working directory)
 * - TCP: `dns:///HOST:PORT`, `dns:HOST:PORT`, `HOST:PORT`, `[::1]:PORT`, `ipv4:1.2.3.4:PORT`, `ipv6:[::1]:PORT`
 *
 * Two spellings of the same endpoint have the same `target`.
 *
 * @throws RunnerSetupError `InvalidEndpoint`
 */
export function parseEndpoint(text: string): Endpoint {
  // grpc-js parses targets with a regexp in which "." excludes line breaks, and a NUL would begin an abstract name.
  if (/\p{Cc}/u.test(text)) throw invalid(text, "it contains control characters");
  const [, scheme, rest = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/.exec(text) ?? [undefined, undefined, text];
  if (text.startsWith("@")) return abstractSocket(text, text.slice(1));
  switch (scheme) {
    case "unix":
      return unixSocket(text, rest);
    case "unix-abstract":
      return abstractSocket(text, rest);
    case "dns":
      return tcp(text, withoutEmptyAuthority(text, rest));
    case "ipv4":
    case "ipv6":
      return ipAddress(text, scheme, rest);
    default:
      if (rest.startsWith("//")) throw invalid(text, `${scheme}: is not a scheme of gRPC; use dns:///HOST:PORT`);
      return tcp(text, text);
  }
}

function unixSocket(text: string, rest: string): Endpoint {
  const path = rest.startsWith("//") ? withoutEmptyAuthority(text, rest, "/") : rest;
  const name = /^\/?@(.*)$/.exec(path)?.[1];
  if (name !== undefined) return abstractSocket(text, name);
  if (path === "" || path.endsWith("/")) throw invalid(text, "it names no file");
  const absolute = resolve(path);
  if (Buffer.byteLength(absolute) > MAX_SOCKET_NAME_BYTES) {
    throw invalid(text, `${absolute} has more than ${MAX_SOCKET_NAME_BYTES} bytes, the maximum for a socket's path`);
  }
  return { kind: "path", text, target: `unix:${absolute}`, path: absolute };
}

function abstractSocket(text: string, name: string): Endpoint {
  if (name === "") throw invalid(text, "it has no name");
  if (Buffer.byteLength(name) > MAX_SOCKET_NAME_BYTES) {
    throw invalid(text, `its name has more than ${MAX_SOCKET_NAME_BYTES} bytes, the maximum for a socket's name`);
  }
  // Node and grpc-js know abstract sockets only by a leading NUL, not by "@" or "unix-abstract:".
  return { kind: "abstract", text, target: `unix:\0${name}`, socket: name };
}

function ipAddress(text: string, scheme: "ipv4" | "ipv6", rest: string): Endpoint {
  const endpoint = tcp(text, rest);
  const family = scheme === "ipv4" ? isIPv4 : isIPv6;
  if (endpoint.kind !== "tcp" || !family(endpoint.host)) throw invalid(text, `it is not an address of ${scheme}`);
  return endpoint;
}

function tcp(text: string, address: string): Endpoint {
  const [, v6, name, digits = ""] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(address) ?? [];
  const host = v6 ?? name;
  const port = Number(digits);
  const known = v6 === undefined ? name !== undefined && HOST.test(name) : isIPv6(v6);
  if (host === undefined || !known || port > MAX_PORT) {
    throw invalid(text, "it is not HOST:PORT; a socket's path is written unix:/PATH");
  }
  if (v6 !== undefined)
    return { kind: "tcp", text, target: `ipv6:[${v6}]:${port}`, host, port, loopback: v6 === "::1" };
  if (isIPv4(host)) {
    return { kind: "tcp", text, target: `ipv4:${host}:${port}`, host, port, loopback: host.startsWith("127.") };
  }
  return { kind: "tcp", text, target: `dns:///${host}:${port}`, host, port, loopback: host === "localhost" };
}

// "//AUTHORITY/REST" -> REST. No resolver here uses an authority, and ignoring one would hide a mistake.
function withoutEmptyAuthority(text: string, rest: string, keep = ""): string {
  if (!rest.startsWith("//")) return rest;
  if (!rest.startsWith("///")) throw invalid(text, "an authority is not supported: write three slashes in a row");
  return keep + rest.slice(3);
}

function invalid(text: string, why: string): RunnerSetupError {
  return new RunnerSetupError(
    "InvalidEndpoint",
    `the endpoint ${JSON.stringify(text.slice(0, 200))} is not usable: ${why}`,
  );
}
