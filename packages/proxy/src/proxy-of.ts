import { BlockList, isIP } from "node:net";
import { unbracketed } from "./unbracketed.ts";

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the proxy for an https URL by `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case, as Go reads them
 * (golang.org/x/net/http/httpproxy): loopback uses none, and `NO_PROXY` lists names with their subdomains, addresses
 * and CIDR blocks, each with an optional port.
 */
export function proxyOf(url: string, env: Environment): string | undefined {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== "https:") return undefined;
  const proxy = env["HTTPS_PROXY"] ?? env["https_proxy"] ?? "";
  if (proxy === "") return undefined;
  const host = unbracketed(hostname);
  if (host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))) return undefined;
  const exceptions = (env["NO_PROXY"] ?? env["no_proxy"] ?? "").split(",").map((text) => text.trim());
  const isException = exceptions.some((exception) => matches(exception, host, port === "" ? "443" : port));
  return isException ? undefined : proxy.includes("://") ? proxy : `http://${proxy}`;
}

function matches(exception: string, host: string, port: string): boolean {
  if (exception === "*") return true;
  if (exception.includes("/")) return isInBlock(exception, host);
  // An IPv6 address has colons of its own, and brackets if a port follows.
  const bracketed = /^\[(.+)\](?::(\d+))?$/.exec(exception);
  const [name = "", only] =
    isIP(exception) === 6 ? [exception] : (bracketed ?? /^(.+?)(?::(\d+))?$/.exec(exception) ?? []).slice(1);
  if (name === "" || (only !== undefined && only !== port)) return false;
  const bare = name.replace(/^\*?\./, "");
  return host === bare || (isIP(host) === 0 && host.endsWith(`.${bare}`));
}

function isInBlock(cidr: string, host: string): boolean {
  const family = isIP(host);
  const [network = "", bits = ""] = cidr.split("/");
  if (family === 0 || isIP(network) !== family || !/^\d{1,3}$/.test(bits)) return false;
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  const block = new BlockList();
  const type = family === 4 ? "ipv4" : "ipv6";
  block.addSubnet(network, Number(bits), type);
  return block.check(host, type);
}
