import { claimFieldOf, hasReclaimPolicy } from "@xfn/composition/definition";
import { type JsonObject, type KubernetesObject, mergePatch, objectAt, textAt, textsAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FINALIZER_CLAIM, finalizersOf } from "../objects/finalizers.ts";
import { typeMeta } from "../objects/kinds.ts";
import { ANNOTATION_EXTERNAL_NAME } from "../objects/labels.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { type NamedComposite, type Offering, requireBindable, type SeenComposite } from "./claim-binding.ts";
import { completedSpec, wantedSpec } from "./claim-fields.ts";
import { claimLabels, wantedAnnotations, wantedLabels } from "./claim-metadata.ts";
import type { ActorName, Subject, Writes } from "./claim-port.ts";
import { reclaimOf } from "./reclaim-policy.ts";
import { yieldFields } from "./yield-fields.ts";

/** The writes to a claim's composite, and the paths of the claim's fields that its Composition sets instead. */
export interface PlannedClaim {
  readonly writes: Writes;
  /** The composite as last read; undefined if a write creates it. */
  readonly existing: LiveObject | undefined;
  readonly yielded: readonly string[];
}

/**
 * Plans to record the binding in the claim, and then to create the composite, or to apply the changes. Keeps the fields
 * of other writers, and removes the fields that the claim no longer has. A composite that is being deleted stays as it
 * is.
 *
 * @param seen without a composite if it does not exist
 * @param offering the definition as last seen
 * @throws {ClaimError} if the claim cannot be bound to the composite
 */
export function planClaim(subject: Subject, seen: NamedComposite | SeenComposite, offering: Offering): PlannedClaim {
  requireBindable(subject, seen, offering);
  const binding = bind(subject, seen.name);
  const existing = "composite" in seen ? seen.composite : undefined;
  if (existing !== undefined && isBeingDeleted(existing)) return { writes: binding, existing, yielded: [] };
  const { intent, yielded } = compositeIntent(subject, seen, existing);
  return { writes: [...binding, ...applyComposite(subject, intent, existing)], existing, yielded };
}

/** Records the finalizer, `resourceRef`, and the deletion policy of the composite. */
function bind({ claim, composites, definition }: Subject, name: string): Writes {
  const finalizers = finalizersOf(claim);
  const spec: JsonObject = {};
  const wanted: JsonObject = { ...typeMeta(composites), name };
  const bound = objectAt(claim, "spec", "resourceRef");
  if (Object.keys(wanted).some((field) => bound[field] !== wanted[field])) spec["resourceRef"] = wanted;
  if (textAt(claim, "spec", "compositeDeletePolicy") === undefined) {
    spec["compositeDeletePolicy"] = definition.spec.defaultCompositeDeletePolicy;
  }
  const hasFinalizer = finalizers.includes(FINALIZER_CLAIM);
  if (hasFinalizer && Object.keys(spec).length === 0) return [];
  const metadata: JsonObject = hasFinalizer ? {} : { finalizers: [...finalizers, FINALIZER_CLAIM] };
  return [patchOf(claim, "it is bound to a composite", { metadata, spec })];
}

function applyComposite({ memory }: Subject, intent: KubernetesObject, existing: LiveObject | undefined): Writes {
  const manager = FIELD_MANAGERS.claim;
  const action = { as: "xr", on: referenceTo(intent), manager, do: "apply", intent, seen: existing } as const;
  // If another writer creates the object concurrently, its claim reference above all must win.
  if (existing === undefined) return [{ ...action, guard: "none", force: false, why: "the claim has no composite" }];
  if (memory.applies.isApplied(intent, existing, { fieldManager: manager })) return [];
  // Another claim may have been bound to the composite since it was checked.
  return [{ ...action, guard: "version", why: "the claim differs" }];
}

function compositeIntent(
  subject: Subject,
  seen: NamedComposite | SeenComposite,
  existing: LiveObject | undefined,
): { intent: KubernetesObject; yielded: string[] } {
  const { claim, claims, composites, definition } = subject;
  const allYielded: string[] = [];
  const yielding = (wanted: JsonObject, ...path: readonly string[]): JsonObject => {
    const { own, yielded } = yieldFields(wanted, existing, ...path);
    allYielded.push(...yielded);
    return own;
  };
  const labels = { ...textsAt(yielding(wantedLabels(claim), "metadata", "labels")), ...claimLabels(claim) };
  const annotations = textsAt(yielding(wantedAnnotations(claim, existing), "metadata", "annotations"));
  // The default, so that users see and can change it.
  const { policy, isGiven } = "composite" in seen ? reclaimOf(subject, seen) : ({ policy: "Delete" } as const);
  const { name, namespace = "", uid } = claim.metadata;
  const spec: JsonObject = {
    ...yielding(wantedSpec(claim, definition), "spec"),
    ...(hasReclaimPolicy(definition) && isGiven !== true && { reclaimPolicy: policy }),
    [claimFieldOf(definition)]: { ...typeMeta(claims), namespace, name, uid },
  };
  const metadata = { name: seen.name, labels, ...(Object.keys(annotations).length > 0 && { annotations }) };
  return { intent: { ...typeMeta(composites), metadata, spec }, yielded: allYielded };
}

/** Plans to copy the composite's external name, and the fields of its spec that the claim does not set. */
export function planCopyBack({ claim, definition }: Subject, composite: LiveObject): Writes {
  const spec = mergePatch(objectAt(claim, "spec"), completedSpec(claim, composite, definition));
  const external = composite.metadata.annotations?.[ANNOTATION_EXTERNAL_NAME] ?? "";
  const isNamed = external === "" || claim.metadata.annotations?.[ANNOTATION_EXTERNAL_NAME] === external;
  if (spec === undefined && isNamed) return [];
  const body = {
    ...(spec !== undefined && { spec }),
    ...(!isNamed && { metadata: { annotations: { [ANNOTATION_EXTERNAL_NAME]: external } } }),
  };
  return [patchOf(claim, "it follows its composite", body)];
}

/** The patch of a claim, with the controller's own rights: it only reports on the claim. */
export function patchOf(claim: LiveObject, why: string, body: JsonObject, part?: "status"): Action<ActorName> {
  const change = { do: "patch", body, seen: claim, guard: "version" } as const;
  return { as: "own", on: referenceTo(claim), manager: FIELD_MANAGERS.claim, part, why, ...change };
}
