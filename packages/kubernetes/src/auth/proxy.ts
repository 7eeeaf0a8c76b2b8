import { isIP } from "node:net";

/** Returns the proxy for a server by `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case, as Go reads them. */
export function proxyOf(server: string, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const { protocol, hostname, port } = new URL(server);
  if (protocol !== "https:") return undefined;
  const proxy = env["HTTPS_PROXY"] ?? env["https_proxy"] ?? "";
  if (proxy === "") return undefined;
  const host = hostname.replace(/^\[|\]$/g, "");
  if (host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))) return undefined;
  const exceptions = (env["NO_PROXY"] ?? env["no_proxy"] ?? "").split(",").map((text) => text.trim());
  const excepted = exceptions.some((exception) => {
    if (exception === "*") return true;
    const [name = "", only] = /^(.+?)(?::(\d+))?$/.exec(exception)?.slice(1) ?? [];
    if (name === "" || (only !== undefined && only !== (port === "" ? "443" : port))) return false;
    const bare = name.replace(/^\*?\./, "");
    return host === bare || (isIP(host) === 0 && host.endsWith(`.${bare}`));
  });
  return excepted ? undefined : proxy.includes("://") ? proxy : `http://${proxy}`;
}
