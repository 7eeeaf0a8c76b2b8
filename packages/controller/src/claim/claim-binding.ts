import { claimFieldOf } from "@xfn/composition/definition";
import { type JsonObject, type KubernetesObject, objectAt, textAt } from "@xfn/json";
import { apiVersionOf, type LiveObject } from "@xfn/kubernetes";
import { composedName } from "@xfn/pipeline";
import { groupKind } from "../objects/kinds.ts";
import { ANNOTATION_CLAIMABLE_BY } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { ClaimError } from "./claim-error.ts";
import type { Subject } from "./claim-port.ts";

/**
 * The owner of a composite according to its claim reference. `namesake`: a claim of the same name with another UID,
 * which it also gets by a restore from a backup.
 */
export type Binding = "this" | "namesake" | "another" | "none";

/** The composite that a claim is bound to or names. */
export interface NamedComposite {
  readonly name: string;
  /** Whether it has the name that the controller gives. */
  readonly isProvisioned: boolean;
}

/** The composite of a claim as last read. */
export interface SeenComposite extends NamedComposite {
  readonly composite: LiveObject;
  readonly binding: Binding;
}

/** RFC 1123 subdomain. Stricter than the URL check: no composite can have another name. */
const OBJECT_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/**
 * The name of the composite of a claim. A name that the controller gives is always the same for one claim, so that a
 * crash creates no second composite. A new claim of the same name gets another composite name.
 *
 * @throws {ClaimError} `InvalidResourceRef`
 */
export function namedComposite({ claim, composites, definition }: Subject): NamedComposite {
  const reference = objectAt(claim, "spec", "resourceRef");
  const provisioned = composedName(`${claim.metadata.name}-`, claim.metadata.uid, "composite");
  const name = textAt(reference, "name");
  if (name === undefined) return { name: provisioned, isProvisioned: true };
  // The composite of a requirement always has the same kind, so its author may omit it.
  const isOfKind =
    (isOnlyName(reference) && claimFieldOf(definition) === "requirementRef") ||
    groupKindOf(reference) === groupKind(apiVersionOf(composites), composites.kind);
  if (isOfKind && OBJECT_NAME.test(name)) return { name, isProvisioned: name === provisioned };
  throw new ClaimError(
    "InvalidResourceRef",
    `spec.resourceRef: this claim can be bound to a ${composites.kind} of ${composites.group}; ` +
      "name one, or remove the field to have one created",
  );
}

/**
 * The owner of a composite. A controlling object, such as the XR that composed it, owns the composite regardless of its
 * claim reference. Otherwise the author of a claim could rewrite and delete any tenant's composed XR by its name.
 */
export function bindingOf({ claim, claims, definition }: Subject, composite: LiveObject): Binding {
  if (controllerOf(composite) !== undefined) return "another";
  const field = claimFieldOf(definition);
  const reference = objectAt(composite, "spec")[field];
  if (reference === undefined) return "none";
  const { name, namespace, uid } = claim.metadata;
  const isOfName =
    textAt(reference, "name") === name &&
    textAt(reference, "namespace") === namespace &&
    // Any version matches: definitions add and remove versions.
    ((field === "requirementRef" && isOnlyName(reference)) ||
      groupKindOf(reference) === groupKind(apiVersionOf(claims), claims.kind));
  if (!isOfName) return "another";
  return (textAt(reference, "uid") ?? uid) === uid ? "this" : "namesake";
}

/** An object with annotations. */
export type Offering = Pick<KubernetesObject, "metadata">;

/**
 * Requires that a claim can be bound to a composite. A composite without a claim must be offered to claims: a bound
 * claim gets its connection secret and changes its spec.
 *
 * @param seen without a composite if it does not exist
 * @param offering the definition as last seen
 * @throws {ClaimError} `CompositeOfAnother`; `CompositeNotFound` or `CompositeNotClaimable` if the author of the claim
 *   chose the composite
 */
export function requireBindable(
  { claim, composites, definition }: Subject,
  { name, isProvisioned, ...seen }: NamedComposite & Partial<SeenComposite>,
  offering: Offering,
): void {
  const title = `${composites.kind} ${name}`;
  if (seen.composite === undefined && !isProvisioned) {
    throw new ClaimError(
      "CompositeNotFound",
      `there is no ${title}, which spec.resourceRef names; create it, or remove the field to have one created`,
    );
  }
  const { namespace = "" } = claim.metadata;
  if (
    seen.binding === "none" &&
    !isProvisioned &&
    ![seen.composite, offering].some((one) => isOffered(one, namespace))
  ) {
    throw new ClaimError(
      "CompositeNotClaimable",
      `the ${title} is not offered to claims of the namespace ${namespace}; its owner can name this claim in ` +
        `spec.${claimFieldOf(definition)} or the namespace in the annotation ${ANNOTATION_CLAIMABLE_BY}; or remove ` +
        "spec.resourceRef to have one created",
    );
  }
  if (seen.composite !== undefined && seen.binding === "another") {
    throw new ClaimError(
      "CompositeOfAnother",
      `the ${title} ${describeOwner(seen.composite)}; name another, or remove spec.resourceRef to have one created`,
    );
  }
}

/** Whether an annotation offers a composite, or all of a definition, to claims. The author of a claim cannot set it. */
function isOffered(offering: Offering | undefined, namespace: string): boolean {
  const namespaces = (offering?.metadata?.annotations?.[ANNOTATION_CLAIMABLE_BY] ?? "").split(",");
  return namespaces.map((one) => one.trim()).some((one) => one === "*" || one === namespace);
}

function describeOwner(composite: LiveObject): string {
  const controller = controllerOf(composite);
  return controller === undefined
    ? "is bound to another claim"
    : `is controlled by the ${controller.kind} ${controller.name}`;
}

function isOnlyName(reference: JsonObject[string] | undefined): boolean {
  return textAt(reference, "apiVersion") === undefined && textAt(reference, "kind") === undefined;
}

function groupKindOf(reference: JsonObject[string]): string {
  return groupKind(textAt(reference, "apiVersion") ?? "", textAt(reference, "kind") ?? "");
}
