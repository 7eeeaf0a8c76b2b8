import { type JsonObject, listAt, textAt } from "@xfn/json";
import { type Client, isApiError } from "@xfn/kubernetes";
import { CRDS } from "../objects/kinds.ts";

/**
 * The version in which an aggregated API server serves the kind of a CRD that does not exist (Kubernetes, "API
 * Aggregation"). Rights on the CRD's kind would then be rights on that API.
 *
 * @returns undefined if the kind is not served, and for objects that are not CRDs
 * @throws {ApiError}
 */
export async function servedElsewhere(
  client: Pick<Client, "raw">,
  crd: JsonObject,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (crd["kind"] !== CRDS.kind) return undefined;
  const group = textAt(crd, "spec", "group") ?? "";
  const plural = textAt(crd, "spec", "names", "plural") ?? "";
  for (const version of listAt(crd, "spec", "versions")) {
    const name = textAt(version, "name") ?? "";
    const path = `/apis/${encodeURIComponent(group)}/${encodeURIComponent(name)}`;
    if ((await resourcesAt(client, path, signal)).includes(plural)) return `${group}/${name}`;
  }
  return undefined;
}

async function resourcesAt(client: Pick<Client, "raw">, path: string, signal: AbortSignal): Promise<unknown[]> {
  try {
    return listAt(await client.raw("GET", path, { signal }), "resources").map((one) => textAt(one, "name"));
  } catch (error) {
    if (isApiError(error, "NotFound", "KindNotServed")) return [];
    throw error;
  }
}
