import { parseArgs } from "node:util";
import { messageOf } from "@xfn/errors";
import { ServeOptionsError } from "../errors/serve-error.ts";

/** The address and the limits of a function's server. */
export interface ServeOptions {
  /** A path for `network` unix, else `HOST:PORT`; HOST can be empty. */
  readonly listen: { readonly path: string } | { readonly host: string | undefined; readonly port: number };
  /** The folder with tls.crt, tls.key and ca.crt; undefined without TLS. */
  readonly certificates: string | undefined;
  readonly maxMessageBytes: number;
}

/** The address that Crossplane and its tools call. */
const DEFAULT_ADDRESS = ":9443";
/** The largest size of a FunctionIO. Servers of the official SDK accept 4 MB by default. */
const DEFAULT_MAX_MB = 100;
const MB = 1024 * 1024;
const MAX_PORT = 65_535;
/** `[HOST]:PORT` or `HOST:PORT`. */
const ADDRESS = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/;
const NETWORKS: ReadonlySet<string> = new Set(["tcp", "tcp4", "tcp6", "unix"]);

const OPTIONS = {
  insecure: { type: "boolean" },
  address: { type: "string", default: DEFAULT_ADDRESS },
  network: { type: "string", default: "tcp" },
  "tls-certs-dir": { type: "string" },
  "max-recv-message-size": { type: "string", default: String(DEFAULT_MAX_MB) },
  // Callers of official functions pass this flag; this server has no debug output.
  debug: { type: "boolean", short: "d" },
} as const;

/**
 * Reads the flags of a function server, which are those of the official SDKs.
 *
 * @throws {ServeOptionsError}
 */
export function serveOptions(args: readonly string[], env: NodeJS.ProcessEnv): ServeOptions {
  const flags = parsed(args);
  const certificates = flags["tls-certs-dir"] ?? env["TLS_SERVER_CERTS_DIR"] ?? "";
  if (flags.insecure !== true && certificates === "")
    throw new ServeOptionsError("serving gRPC needs --insecure, or certificates in --tls-certs-dir DIR");
  const megabytes = Number(flags["max-recv-message-size"]);
  if (!Number.isInteger(megabytes) || megabytes < 1 || megabytes > DEFAULT_MAX_MB)
    throw new ServeOptionsError(`--max-recv-message-size must be a number of MB from 1 to ${DEFAULT_MAX_MB}`);
  return {
    listen: listenOn(flags.network, flags.address),
    certificates: flags.insecure === true ? undefined : certificates,
    maxMessageBytes: megabytes * MB,
  };
}

function parsed(args: readonly string[]): ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"] {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    const known = Object.keys(OPTIONS).map((name) => `--${name}`);
    const why = messageOf(error);
    throw new ServeOptionsError(`${why}. The flags are ${known.join(", ")}`, { cause: error });
  }
}

function listenOn(network: string, address: string): ServeOptions["listen"] {
  if (!NETWORKS.has(network))
    throw new ServeOptionsError(`--network must be ${[...NETWORKS].join(", ")}, not ${JSON.stringify(network)}`);
  if (network === "unix") return { path: address };
  const [, bracketed, plain, port = ""] = ADDRESS.exec(address) ?? [];
  const host = bracketed ?? plain ?? "";
  if (port === "" || Number(port) > MAX_PORT)
    throw new ServeOptionsError(`--address must be HOST:PORT or :PORT, not ${JSON.stringify(address)}`);
  const all = network === "tcp4" ? "0.0.0.0" : undefined;
  return { host: host === "" ? all : host, port: Number(port) };
}
