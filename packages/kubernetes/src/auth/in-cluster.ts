import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import type { ClusterAccess } from "./access.ts";
import { TokenFile } from "./token-file.ts";

/** The directory of a pod's service account. */
export const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Access to the API server of this pod's cluster with its service account (kubernetes.io, "Accessing the API from a
 * Pod").
 */
export async function inClusterAccess(
  options: { folder?: string; env?: Readonly<Record<string, string | undefined>> } = {},
): Promise<ClusterAccess> {
  const { folder = SERVICE_ACCOUNT, env = process.env } = options;
  const host = env["KUBERNETES_SERVICE_HOST"] ?? "kubernetes.default.svc";
  const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
  const token = new TokenFile(join(folder, "token"));
  const namespace = await readFile(join(folder, "namespace"), "utf8").catch(() => "");
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    namespace: namespace.trim() === "" ? undefined : namespace.trim(),
    // The file is replaced while the pod runs.
    tls: async () => ({ ca: readFileSync(join(folder, "ca.crt"), "utf8") }),
    headers: () => token.headers(),
    refresh: () => token.refresh(),
  };
}
