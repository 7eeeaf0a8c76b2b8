import { LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE } from "@xfn/composition";
import { claimFieldOf, layoutOfDefinition } from "@xfn/composition/definition";
import { type JsonObject, objectsAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { secretReferenceOf } from "../objects/connection-secrets.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FINALIZER_CLAIM, finalizersOf } from "../objects/finalizers.ts";
import { ANNOTATION_CLAIMABLE_BY } from "../objects/labels.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import type { SeenComposite } from "./claim-binding.ts";
import { ClaimError } from "./claim-error.ts";
import type { ActorName, ObjectEvent, Subject, Writes } from "./claim-port.ts";
import { patchOf } from "./plan-claim.ts";
import { type Reclaim, reclaimOf } from "./reclaim-policy.ts";

/** The end of a claim's composite. */
export interface PlannedEnding {
  readonly writes: Writes;
  /** The composite that is deleted or released; undefined if it stays as it is. */
  readonly composite: LiveObject | undefined;
  readonly policy: Reclaim["policy"];
  /** Whether the claim waits until the composite is gone. */
  readonly waits: boolean;
}

/**
 * Plans to delete the composite of a deleted claim, unless its reclaim policy is Retain. With `compositeDeletePolicy`
 * Foreground the claim waits until the composite and its composed resources are gone.
 *
 * @param seen undefined if it does not exist
 * @throws {ClaimError} `CompositeOfAnother` if a composite that was created for this claim has lost its `claimRef`
 */
export function planEnding(subject: Subject, seen: SeenComposite | undefined): PlannedEnding {
  const policy = seen === undefined ? "Delete" : reclaimOf(subject, seen).policy;
  const composite = endingComposite(subject, seen, policy);
  const isForeground = textAt(subject.claim, "spec", "compositeDeletePolicy") === "Foreground";
  const deleted = policy === "Delete" ? composite : undefined;
  const writes = deleted === undefined || isBeingDeleted(deleted) ? [] : [deleteComposite(deleted, isForeground)];
  return { writes, composite, policy, waits: isForeground && deleted !== undefined };
}

/**
 * Plans to delete the claim's connection secret, and then to release a retained composite: the next claim may be bound
 * as soon as it is released.
 *
 * @param copy the claim's copy of a connection secret; undefined if it does not exist
 */
export function planRelease(
  subject: Subject,
  { composite, policy }: PlannedEnding,
  copy: LiveObject | undefined,
): Writes {
  const released = policy === "Retain" && composite !== undefined ? [releaseComposite(subject, composite)] : [];
  return [...deleteCopy(subject.claim, copy), ...released];
}

/** Plans to remove a claim's finalizer. */
export function planEnd({ claim }: Subject): Writes {
  const finalizers = finalizersOf(claim).filter((one) => one !== FINALIZER_CLAIM);
  return [patchOf(claim, "its composite is deleted or released", { metadata: { finalizers } })];
}

/** The event about the end of a claim. */
export function endEvent({ composite, policy }: PlannedEnding): ObjectEvent {
  const common = { type: "Normal", reason: "DeleteCompositeResource" } as const;
  if (composite === undefined) return { ...common, message: "there is no composite left" };
  const { name } = composite.metadata;
  return policy === "Retain"
    ? { ...common, reason: "Released", message: `released ${name}, which is retained` }
    : { ...common, message: `deleted ${name}` };
}

/** The event on a composite that its deleted claim has released. */
export function releaseEvent({ claim, definition }: Subject, composite: LiveObject): ObjectEvent {
  const known = secretReferenceOf(composite, layoutOfDefinition(definition));
  const details =
    known === undefined
      ? ""
      : `; its users know the connection details in the Secret ${known.namespace}/${known.name}: change them there before ` +
        "another claim is bound";
  const { name, namespace = "" } = claim.metadata;
  const message = `the claim ${namespace}/${name} was deleted, and this object is retained${details}`;
  return { type: known === undefined ? "Normal" : "Warning", reason: "Released", message };
}

/** The composite that ends with the claim. It stays if it is bound to another claim, or was never bound to this one. */
function endingComposite(
  { composites, definition }: Subject,
  seen: SeenComposite | undefined,
  policy: Reclaim["policy"],
): LiveObject | undefined {
  // Leave a composite that is bound to a later claim of this name.
  if (seen?.binding === "this") return seen.composite;
  // With the policy Retain, a missing claim reference means that the composite was released before a crash.
  if (seen?.binding === "none" && seen.isProvisioned && policy === "Delete") {
    throw new ClaimError(
      "CompositeOfAnother",
      `the ${composites.kind} ${seen.name} was created for this claim but has no spec.${claimFieldOf(definition)}, and is not deleted; ` +
        "set it, or delete the composite",
    );
  }
  return undefined;
}

function deleteComposite(composite: LiveObject, isForeground: boolean): Action<ActorName> {
  const propagation = isForeground ? "Foreground" : undefined;
  const change = { do: "delete", seen: composite, guard: "uid", propagation } as const;
  return { ...common(composite, "its claim is deleted"), ...change };
}

/**
 * Releases a composite from its claim, so that another claim of the same namespace can be bound to it. If it is offered
 * to other claims, they can be bound too. The fields that the claim set stay, but no longer belong to a claim: the next
 * claim changes only the fields that it sets.
 */
function releaseComposite({ claim, definition }: Subject, composite: LiveObject): Action<ActorName> {
  const claimableBy = composite.metadata.annotations?.[ANNOTATION_CLAIMABLE_BY] ?? claim.metadata.namespace ?? "";
  const managedFields = objectsAt(composite.metadata, "managedFields").filter(
    ({ manager, subresource = "" }) => manager !== FIELD_MANAGERS.claim || subresource !== "",
  );
  const body = {
    metadata: {
      labels: { [LABEL_CLAIM_NAME]: null, [LABEL_CLAIM_NAMESPACE]: null },
      annotations: { [ANNOTATION_CLAIMABLE_BY]: claimableBy },
      managedFields: orNone(managedFields),
    },
    spec: { [claimFieldOf(definition)]: null },
  };
  // Another claim may be bound to the composite by now. The next claim owns only the fields that it sets, and not this
  // annotation.
  const change = { manager: FIELD_MANAGERS.program, do: "patch", body, seen: composite, guard: "version" } as const;
  return { ...common(composite, "its claim is deleted, and it is retained"), ...change };
}

/** The server ignores an empty list of managed fields; this one removes all (Kubernetes, "Server-Side Apply"). */
function orNone(managedFields: readonly JsonObject[]): JsonObject[] {
  return managedFields.length === 0 ? [{}] : [...managedFields];
}

/**
 * Deletes a claim's copy of a connection secret. The garbage collector cannot do it once a definition has removed the
 * claim's kind, because it no longer finds the owner.
 */
function deleteCopy(claim: LiveObject, copy: LiveObject | undefined): Writes {
  if (copy === undefined || !isControlledBy(copy, claim)) return [];
  return [{ ...common(copy, "its claim is deleted"), do: "delete", seen: copy, guard: "version" }];
}

function common(object: LiveObject, why: string): Pick<Action<ActorName>, "manager" | "on" | "why"> & { as: "xr" } {
  return { as: "xr", on: referenceTo(object), manager: FIELD_MANAGERS.claim, why };
}
