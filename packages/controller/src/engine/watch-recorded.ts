import type { Layout } from "@xfn/composition";
import { type Cache, type Client, inTurns, type ResourceKind } from "@xfn/kubernetes";
import type { ComposedWatches } from "../objects/context.ts";
import { recordedReferences } from "../objects/references.ts";

// If listing a kind takes longer, its objects are read one by one.
const LIST_TIMEOUT_MS = 10_000;
const CHECK_MS = 10;

/**
 * Watches the kinds of all recorded composed resources, and waits for their first lists. A controller that starts with
 * thousands of XRs then lists a few kinds instead of reading thousands of objects.
 */
export async function watchRecorded(
  client: Client,
  composed: ComposedWatches,
  xrs: Cache,
  layout: Layout,
  signal: AbortSignal,
): Promise<void> {
  const kinds = new Map<string, ResourceKind | undefined>();
  await inTurns(xrs.list(), async (xr) => {
    const wanted: ResourceKind[] = [];
    for (const { apiVersion, kind } of recordedReferences(xr, layout)) {
      const key = `${apiVersion}/${kind}`;
      // Lookup errors are reported by the reconcile that needs the object.
      if (!kinds.has(key)) kinds.set(key, await client.kind(apiVersion, kind, { signal }).catch(() => undefined));
      const found = kinds.get(key);
      if (found !== undefined) wanted.push(found);
    }
    if (wanted.length > 0) composed.watch(xr.metadata.uid, wanted);
  });
  const found = [...kinds.values()].filter((kind) => kind !== undefined);
  await Promise.all(found.map((kind) => waitForList(composed, kind, signal)));
}

async function waitForList(composed: ComposedWatches, kind: ResourceKind, signal: AbortSignal): Promise<void> {
  const end = performance.now() + LIST_TIMEOUT_MS;
  while (composed.cache(kind) === undefined && performance.now() < end && !signal.aborted)
    await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
}
