import { isObject, type JsonObject } from "@xfn/functionio";
import type { ClusterAccess } from "./access.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";

// Tokens live for minutes at least; asking the library costs little, and it keeps them.
const ASK_AGAIN_MS = 30_000;

/**
 * `auth-provider` of a kubeconfig (oidc, gcp, azure), which kubectl has given up for `exec`: left to the official client. It
 * is loaded only for these: with its 90 MB it is larger than all of ours.
 */
export function legacyProvider(name: string, provider: JsonObject): Pick<ClusterAccess, "headers" | "refresh"> {
  let asked: Promise<Readonly<Record<string, string>>> | undefined;
  let at = Number.NEGATIVE_INFINITY;
  const ask = async (): Promise<Readonly<Record<string, string>>> => {
    const { KubeConfig } = await import("@kubernetes/client-node");
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: "cluster", server: "https://localhost", skipTLSVerify: false },
      { name, authProvider: structuredClone(provider) },
    );
    const options: { headers?: Record<string, unknown> } = {};
    await config.applyToHTTPSOptions(options);
    const headers: Record<string, string> = {};
    for (const [key, value] of Object.entries(isObject(options.headers) ? options.headers : {})) {
      if (typeof value === "string") headers[key.toLowerCase()] = value;
    }
    return headers;
  };
  const fetch = (): Promise<Readonly<Record<string, string>>> => {
    at = performance.now();
    asked = ask().catch((cause: unknown) => {
      asked = undefined;
      throw new KubeconfigError("Credentials", `user ${name}: its auth-provider failed: ${String(cause)}`, cause);
    });
    return asked;
  };
  return {
    headers: () => (asked === undefined || performance.now() - at > ASK_AGAIN_MS ? fetch() : asked),
    async refresh() {
      const before = await asked;
      return (await fetch())["authorization"] !== before?.["authorization"];
    },
  };
}
