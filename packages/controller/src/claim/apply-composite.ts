import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { objectAt, textsAt } from "../objects/read-objects.ts";
import { claimReference } from "./bind-composite.ts";
import { type ClaimWork, compositeReference } from "./claim-context.ts";
import { CLAIM_MANAGER, wantedSpec } from "./claim-fields.ts";
import { claimLabels, wantedAnnotations, wantedLabels } from "./claim-metadata.ts";
import { yieldFields } from "./yield-fields.ts";

/**
 * Makes the composite what the claim says: creates it, or applies what has changed. Fields that others gave it stay, and those
 * that the claim no longer has go.
 *
 * @param existing the composite as it is known to be; undefined if the server has just said that there is none
 */
export async function applyComposite(
  work: ClaimWork,
  name: string,
  existing: LiveObject | undefined,
): Promise<{ composite: LiveObject; created: boolean }> {
  const { context, memory, signal } = work;
  const intent = compositeIntent(work, name, existing);
  if (existing === undefined) {
    // Without force: one that somebody else creates in this very moment keeps what it says, its claim before all.
    const options = { fieldManager: CLAIM_MANAGER, force: false, signal };
    const composite = await context.client.apply(intent, options);
    memory.own.saw(composite);
    return { composite, created: true };
  }
  const { object, written } = await memory.applied.apply(context.client, intent, existing, {
    fieldManager: CLAIM_MANAGER,
    // Whose it is was judged by this state of it: perhaps another claim has it meanwhile.
    onlyIfUnchanged: true,
    signal,
  });
  if (written) memory.own.saw(object);
  return { composite: object, created: false };
}

function compositeIntent(work: ClaimWork, name: string, existing: LiveObject | undefined): KubernetesObject {
  const { claim } = work;
  const { apiVersion, kind } = compositeReference(work, name);
  const yielding = (wanted: JsonObject, ...within: readonly string[]): JsonObject => {
    const { own, yielded } = yieldFields(wanted, existing, ...within);
    for (const path of yielded) tellYielded(work, path);
    return own;
  };
  const labels = { ...textsAt(yielding(wantedLabels(claim), "metadata", "labels")), ...claimLabels(claim) };
  const annotations = textsAt(yielding(wantedAnnotations(claim, existing), "metadata", "annotations"));
  const spec: JsonObject = { ...yielding(wantedSpec(claim, work.definition), "spec"), claimRef: claimReference(work) };
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      labels,
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec,
  };
}

/** Once for each process and field: it stays so for as long as both say what they say. */
function tellYielded({ context, claim, memory }: ClaimWork, path: string): void {
  if (memory.told.has(path)) return;
  memory.told.add(path);
  const message = `${path}: the Composition sets it; what the claim says there has no effect`;
  context.events.record(claim, { type: "Warning", reason: "FieldOfComposition", message });
}

/** Whether a composite has become ready. */
export function isReady(composite: LiveObject): boolean {
  const { conditions } = objectAt(composite, "status");
  return (
    Array.isArray(conditions) &&
    conditions.some((one) => objectAt(one)["type"] === "Ready" && objectAt(one)["status"] === "True")
  );
}
