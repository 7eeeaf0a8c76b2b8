import { LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE } from "@xfn/composition";
import { claimFieldOf, hasReclaimPolicy, layoutOfDefinition } from "@xfn/composition/definition";
import { isObject, type JsonObject, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { secretReferenceOf } from "../objects/connection-secrets.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceOf } from "../objects/kinds.ts";
import { ANNOTATION_CLAIMABLE_BY } from "../objects/labels.ts";
import { bindingOf, provisionedName } from "./bind-composite.ts";
import type { ClaimContext } from "./claim-context.ts";
import { ownSpecFields } from "./claim-fields.ts";

/** Whether a composite is deleted or kept when its claim is deleted. */
export type ReclaimPolicy = "Delete" | "Retain";

/**
 * The policy of a composite (`spec.reclaimPolicy`). A user's value wins. By default a composite is deleted with the
 * claim that it was created for. Any other composite is retained, because other users may depend on it.
 */
export function reclaimPolicyOf(context: ClaimContext, composite: LiveObject): ReclaimPolicy {
  return givenPolicy(context, composite) ?? defaultPolicy(context, composite);
}

/**
 * The field `reclaimPolicy` that the claim applies to its composite: the default, so that users see and can change it.
 * Empty if a user has set a value.
 *
 * @param composite as last read; undefined if the claim creates it
 */
export function reclaimField(context: ClaimContext, composite: LiveObject | undefined): JsonObject {
  if (!hasReclaimPolicy(context.definition)) return {};
  if (composite === undefined) return { reclaimPolicy: "Delete" };
  return givenPolicy(context, composite) === undefined ? { reclaimPolicy: defaultPolicy(context, composite) } : {};
}

/** The policy that the spec of a composite has. */
function presentPolicy({ definition }: ClaimContext, composite: LiveObject): ReclaimPolicy | undefined {
  const policy = hasReclaimPolicy(definition) ? textAt(composite, "spec", "reclaimPolicy") : undefined;
  return policy === "Delete" || policy === "Retain" ? policy : undefined;
}

/** The policy that a user has set, rather than the claim controller's own default. */
function givenPolicy(context: ClaimContext, composite: LiveObject): ReclaimPolicy | undefined {
  const policy = presentPolicy(context, composite);
  if (policy === undefined) return undefined;
  return ownSpecFields(composite)["f:reclaimPolicy"] === undefined ? policy : undefined;
}

/** Depends only on state that survives a crash. */
function defaultPolicy(context: ClaimContext, composite: LiveObject): ReclaimPolicy {
  const { claim } = context;
  if (composite.metadata.name === provisionedName(claim)) return "Delete";
  if (bindingOf(context, composite) !== "this") return "Retain";
  // The value that this claim recorded when it was bound stays.
  const isRecorded = textAt(composite, "spec", claimFieldOf(context.definition), "uid") === claim.metadata.uid;
  const recorded = isRecorded ? presentPolicy(context, composite) : undefined;
  return recorded ?? (wasProvisionedElsewhere(context, composite) ? "Delete" : "Retain");
}

/** Whether Crossplane created the composite for the claim: its name then begins with the claim's, and it is younger. */
function wasProvisionedElsewhere({ claim }: ClaimContext, composite: LiveObject): boolean {
  const claimed = Date.parse(textAt(claim, "metadata", "creationTimestamp") ?? "");
  const created = Date.parse(textAt(composite, "metadata", "creationTimestamp") ?? "");
  return composite.metadata.name.startsWith(`${claim.metadata.name}-`) && created >= claimed;
}

/**
 * Releases a composite from its claim, so that another claim of the same namespace can be bound to it. If it is offered
 * to other claims, they can be bound too. The fields that the claim set stay, but no longer belong to a claim: the next
 * claim changes only the fields that it sets.
 *
 * @throws {ApiError} `Conflict` if the composite has changed since it was read: another claim may be bound to it
 */
export async function releaseComposite(context: ClaimContext, composite: LiveObject): Promise<void> {
  const { actors, composites, events, claim, memory, signal } = context;
  const { name, uid, resourceVersion } = composite.metadata;
  const labels = { [LABEL_CLAIM_NAME]: null, [LABEL_CLAIM_NAMESPACE]: null };
  const claimableBy = composite.metadata.annotations?.[ANNOTATION_CLAIMABLE_BY] ?? claim.metadata.namespace ?? "";
  const annotations = { [ANNOTATION_CLAIMABLE_BY]: claimableBy };
  const entries = composite.metadata["managedFields"];
  const managedFields = (Array.isArray(entries) ? entries : [])
    .filter(isObject)
    .filter(({ manager, subresource = "" }) => manager !== FIELD_MANAGERS.claim || subresource !== "");
  const released = await actors.xr.client.patch(
    referenceOf(composites, name),
    "merge",
    {
      metadata: { uid, resourceVersion, labels, annotations, managedFields: orNone(managedFields) },
      spec: { [claimFieldOf(context.definition)]: null },
    },
    // The next claim owns only the fields that it sets, and not this annotation.
    { fieldManager: FIELD_MANAGERS.program, signal },
  );
  memory.writes.saw(released);
  const title = `the claim ${claim.metadata.namespace ?? ""}/${claim.metadata.name}`;
  const known = secretReferenceOf(composite, layoutOfDefinition(context.definition));
  const details =
    known === undefined
      ? ""
      : `; its users know the connection details in the Secret ${known.namespace}/${known.name}: change them there before ` +
        "another claim is bound";
  const type = known === undefined ? "Normal" : "Warning";
  events.record(released, {
    type,
    reason: "Released",
    message: `${title} was deleted, and this object is retained${details}`,
  });
}

/** The server ignores an empty list of managed fields; this one removes all (Kubernetes, "Server-Side Apply"). */
function orNone(managedFields: readonly JsonObject[]): JsonObject[] {
  return managedFields.length === 0 ? [{}] : [...managedFields];
}
