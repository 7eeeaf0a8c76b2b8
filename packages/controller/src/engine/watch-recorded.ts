import { isObject } from "@xfn/functionio";
import type { Cache, Client, LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { ComposedWatches } from "../objects/context.ts";

// A kind whose list takes longer is waited for by nobody: its objects are read one by one then.
const PATIENCE_MS = 10_000;

/**
 * Watches the kinds of all composed resources that XRs have recorded, and waits for their first lists: a controller that starts
 * with thousands of XRs lists a few kinds, where it would else read thousands of objects.
 */
export async function watchRecorded(
  client: Client,
  composed: ComposedWatches,
  xrs: Cache,
  signal: AbortSignal,
): Promise<void> {
  const kinds = new Map<string, ResourceKind | undefined>();
  for (const xr of xrs.list()) {
    const wanted: ResourceKind[] = [];
    for (const [apiVersion, kind] of recordedKinds(xr)) {
      const key = `${apiVersion}/${kind}`;
      // What cannot be looked up is told by the reconcile that needs it.
      if (!kinds.has(key)) kinds.set(key, await client.kind(apiVersion, kind, { signal }).catch(() => undefined));
      const found = kinds.get(key);
      if (found !== undefined) wanted.push(found);
    }
    if (wanted.length > 0) composed.watch(xr.metadata.uid, wanted);
  }
  const found = [...kinds.values()].filter((kind) => kind !== undefined);
  await Promise.all(found.map((kind) => listed(composed, kind, signal)));
}

function recordedKinds(xr: LiveObject): [apiVersion: string, kind: string][] {
  const spec = xr["spec"];
  const references = isObject(spec) ? spec["resourceRefs"] : undefined;
  if (!Array.isArray(references)) return [];
  return references.flatMap((reference): [string, string][] => {
    if (!isObject(reference)) return [];
    const { apiVersion, kind } = reference;
    return typeof apiVersion === "string" && typeof kind === "string" ? [[apiVersion, kind]] : [];
  });
}

async function listed(composed: ComposedWatches, kind: ResourceKind, signal: AbortSignal): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (composed.cache(kind) === undefined && performance.now() < end && !signal.aborted)
    await new Promise((resolve) => setTimeout(resolve, 10));
}
