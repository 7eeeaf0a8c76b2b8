import { claimFieldOf } from "@xfn/composition/definition";
import { type JsonObject, type KubernetesObject, textsAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { typeMeta } from "../objects/kinds.ts";
import { claimReference } from "./bind-composite.ts";
import type { ClaimContext } from "./claim-context.ts";
import { wantedSpec } from "./claim-fields.ts";
import { claimLabels, wantedAnnotations, wantedLabels } from "./claim-metadata.ts";
import { reclaimField } from "./reclaim.ts";
import { yieldFields } from "./yield-fields.ts";

/**
 * Creates the composite of a claim, or applies the changes. Keeps the fields of other writers, and removes the fields
 * that the claim no longer has.
 *
 * @param existing the composite as last read; undefined if the server has none
 */
export async function applyComposite(
  context: ClaimContext,
  name: string,
  existing: LiveObject | undefined,
): Promise<{ composite: LiveObject; created: boolean }> {
  const { actors, memory, signal } = context;
  const { client } = actors.xr;
  const intent = compositeIntent(context, name, existing);
  const fieldManager = FIELD_MANAGERS.claim;
  if (existing === undefined) {
    // Do not force ownership: if another writer creates the object concurrently, its claim reference above all must
    // win.
    const composite = await client.apply(intent, { fieldManager, force: false, signal });
    memory.writes.saw(composite);
    return { composite, created: true };
  }
  // Use the version as a precondition: another claim may have been bound to the composite since it was checked.
  const options = { fieldManager, onlyIfUnchanged: true, signal };
  const { object, written } = await memory.applies.apply(client, intent, existing, options);
  if (written) memory.writes.saw(object);
  return { composite: object, created: false };
}

function compositeIntent(context: ClaimContext, name: string, existing: LiveObject | undefined): KubernetesObject {
  const { claim, composites, definition } = context;
  const yielding = (wanted: JsonObject, ...path: readonly string[]): JsonObject => {
    const { own, yielded } = yieldFields(wanted, existing, ...path);
    for (const field of yielded) emitYielded(context, field);
    return own;
  };
  const labels = { ...textsAt(yielding(wantedLabels(claim), "metadata", "labels")), ...claimLabels(claim) };
  const annotations = textsAt(yielding(wantedAnnotations(claim, existing), "metadata", "annotations"));
  const spec: JsonObject = {
    ...yielding(wantedSpec(claim, definition), "spec"),
    ...reclaimField(context, existing),
    [claimFieldOf(definition)]: claimReference(context),
  };
  return {
    ...typeMeta(composites),
    metadata: {
      name,
      labels,
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec,
  };
}

/** Emits one event per process and field: nothing changes until the claim or the Composition changes. */
function emitYielded({ events, claim, memory }: ClaimContext, path: string): void {
  if (memory.yielded.has(path)) return;
  memory.yielded.add(path);
  const message = `${path}: the Composition sets it; the claim's value has no effect`;
  events.record(claim, { type: "Warning", reason: "FieldOfComposition", message });
}
