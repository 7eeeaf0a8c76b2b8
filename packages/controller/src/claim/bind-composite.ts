import { claimFieldOf } from "@xfn/composition/definition";
import { type JsonObject, objectAt, textAt } from "@xfn/json";
import { apiVersionOf, type LiveObject } from "@xfn/kubernetes";
import { composedName } from "@xfn/pipeline";
import { FINALIZER_CLAIM, finalizersOf } from "../objects/finalizers.ts";
import { groupKind, typeMeta } from "../objects/kinds.ts";
import { ANNOTATION_CLAIMABLE_BY } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { type ClaimContext, findComposite, patchClaim } from "./claim-context.ts";
import { ClaimError } from "./claim-error.ts";
import { isClaimable } from "./claimable.ts";

/**
 * The name of the composite that the controller creates for a claim. It is always the same for one claim, so that a
 * crash creates no second composite. A new claim of the same name gets another composite name.
 */
export function provisionedName({ metadata }: LiveObject): string {
  return composedName(`${metadata.name}-`, metadata.uid, "composite");
}

/** RFC 1123 subdomain. Stricter than the URL check: no composite can have another name. */
const OBJECT_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/**
 * The name of the composite that a claim is bound to or names.
 *
 * @throws {ClaimError} `InvalidResourceRef`
 */
export function compositeName({ claim, composites, definition }: ClaimContext): string {
  const reference = objectAt(claim, "spec", "resourceRef");
  const name = textAt(reference, "name");
  if (name === undefined) return provisionedName(claim);
  // The composite of a requirement always has the same kind, so its author may omit it.
  const isOfKind =
    (isOnlyName(reference) && claimFieldOf(definition) === "requirementRef") ||
    groupKindOf(reference) === groupKind(apiVersionOf(composites), composites.kind);
  if (isOfKind && OBJECT_NAME.test(name)) return name;
  throw new ClaimError(
    "InvalidResourceRef",
    `spec.resourceRef: this claim can be bound to a ${composites.kind} of ${composites.group}; ` +
      "name one, or remove the field to have one created",
  );
}

/**
 * The composite that a claim can be bound to; undefined if it must be created. A composite without a claim must be
 * offered to claims: a bound claim gets its connection secret and changes its spec.
 *
 * @throws {ClaimError} `CompositeOfAnother`; `CompositeNotFound` or `CompositeNotClaimable` if the author of the claim
 *   chose the composite
 */
export async function bindableComposite(context: ClaimContext, name: string): Promise<LiveObject | undefined> {
  const composite = await findComposite(context, name);
  const { kind } = context.composites;
  if (composite === undefined) {
    if (name === provisionedName(context.claim)) return undefined;
    throw new ClaimError(
      "CompositeNotFound",
      `there is no ${kind} ${name}, which spec.resourceRef names; create it, or remove the field to have one created`,
    );
  }
  const binding = bindingOf(context, composite);
  if (binding === "none" && name !== provisionedName(context.claim) && !isClaimable(context, composite)) {
    const { namespace = "" } = context.claim.metadata;
    throw new ClaimError(
      "CompositeNotClaimable",
      `the ${kind} ${name} is not offered to claims of the namespace ${namespace}; its owner can name this claim in ` +
        `spec.${claimFieldOf(context.definition)} or the namespace in the annotation ${ANNOTATION_CLAIMABLE_BY}; or remove ` +
        "spec.resourceRef to have one created",
    );
  }
  if (binding === "another") {
    throw new ClaimError(
      "CompositeOfAnother",
      `the ${kind} ${name} ${describeOwner(composite)}; name another, or remove spec.resourceRef to have one created`,
    );
  }
  return composite;
}

function describeOwner(composite: LiveObject): string {
  const controller = controllerOf(composite);
  return controller === undefined
    ? "is bound to another claim"
    : `is controlled by the ${controller.kind} ${controller.name}`;
}

/**
 * The owner of a composite according to its claim reference: this claim, another claim, or none. A controlling object,
 * such as the XR that composed it, owns the composite regardless of the reference. Otherwise the author of a claim
 * could rewrite and delete any tenant's composed XR by its name.
 */
export function bindingOf(
  { claim, claims, definition }: ClaimContext,
  composite: LiveObject,
): "this" | "another" | "none" {
  if (controllerOf(composite) !== undefined) return "another";
  const field = claimFieldOf(definition);
  const reference = objectAt(composite, "spec")[field];
  if (reference === undefined) return "none";
  const isThis =
    textAt(reference, "name") === claim.metadata.name &&
    textAt(reference, "namespace") === claim.metadata.namespace &&
    // Any version matches: definitions add and remove versions.
    ((field === "requirementRef" && isOnlyName(reference)) ||
      groupKindOf(reference) === groupKind(apiVersionOf(claims), claims.kind));
  return isThis ? "this" : "another";
}

/**
 * Whether a composite is bound to another claim of the same name. A restore from a backup also gives a claim another
 * UID.
 */
export function isOfNamesake({ claim, definition }: ClaimContext, composite: LiveObject): boolean {
  const uid = textAt(composite, "spec", claimFieldOf(definition), "uid");
  return uid !== undefined && uid !== claim.metadata.uid;
}

/** The claim reference that the composite gets. */
export function claimReference({ claim, claims }: ClaimContext): JsonObject {
  const { name, namespace = "", uid } = claim.metadata;
  return { ...typeMeta(claims), namespace, name, uid };
}

/**
 * Records the binding in the claim before the composite is created: the finalizer, `resourceRef`, and the deletion
 * policy of the composite.
 */
export async function recordBinding(context: ClaimContext, name: string): Promise<void> {
  const { claim, composites, definition } = context;
  const finalizers = finalizersOf(claim);
  const spec: JsonObject = {};
  const wanted: JsonObject = { ...typeMeta(composites), name };
  const bound = objectAt(claim, "spec", "resourceRef");
  if (Object.keys(wanted).some((field) => bound[field] !== wanted[field])) spec["resourceRef"] = wanted;
  if (textAt(claim, "spec", "compositeDeletePolicy") === undefined) {
    spec["compositeDeletePolicy"] = definition.spec.defaultCompositeDeletePolicy;
  }
  const hasFinalizer = finalizers.includes(FINALIZER_CLAIM);
  if (hasFinalizer && Object.keys(spec).length === 0) return;
  const metadata: JsonObject = hasFinalizer ? {} : { finalizers: [...finalizers, FINALIZER_CLAIM] };
  await patchClaim(context, { metadata, spec });
}

function isOnlyName(reference: JsonObject[string] | undefined): boolean {
  return textAt(reference, "apiVersion") === undefined && textAt(reference, "kind") === undefined;
}

function groupKindOf(reference: JsonObject[string]): string {
  return groupKind(textAt(reference, "apiVersion") ?? "", textAt(reference, "kind") ?? "");
}
