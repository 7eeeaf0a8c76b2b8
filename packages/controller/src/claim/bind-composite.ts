import type { JsonObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { composedName } from "@xfn/pipeline";
import { FINALIZER_CLAIM } from "../objects/labels.ts";
import { groupKind } from "../objects/owner.ts";
import { apiVersionOf, objectAt, textAt } from "../objects/read-objects.ts";
import { type ClaimWork, findComposite, patchClaim } from "./claim-context.ts";
import { ClaimProblem } from "./claim-error.ts";

/**
 * The name of the composite that is made for a claim: always the same for the same claim, so that no crash makes a second one,
 * and another for a new claim of the same name.
 */
export function provisionedName({ metadata }: LiveObject): string {
  return composedName(`${metadata.name}-`, metadata.uid, "composite");
}

/** What names can be (RFC 1123 subdomain). Nothing has another, and one such as `..` would be another path of the server. */
const OBJECT_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/**
 * The name of a claim's composite: the one that it is bound to, or asks to be.
 *
 * @throws {ClaimProblem} `InvalidResourceRef`
 */
export function compositeName({ claim, composites }: ClaimWork): string {
  const reference = objectAt(claim, "spec", "resourceRef");
  const name = textAt(reference, "name");
  if (name === undefined) return provisionedName(claim);
  const wanted = groupKind(apiVersionOf(composites), composites.kind);
  const asked = groupKind(textAt(reference, "apiVersion") ?? "", textAt(reference, "kind") ?? "");
  if (asked === wanted && OBJECT_NAME.test(name)) return name;
  throw new ClaimProblem(
    "InvalidResourceRef",
    `spec.resourceRef: this claim can be bound to a ${composites.kind} of ${composites.group}; ` +
      "name one, or remove the field to have one made",
  );
}

/**
 * The composite of a claim, if it is there and may be the claim's.
 *
 * @throws {ClaimProblem} `CompositeOfAnother`, or `CompositeNotFound` for one that the claim's author chose
 */
export async function bindableComposite(work: ClaimWork, name: string): Promise<LiveObject | undefined> {
  const composite = await findComposite(work, name);
  if (composite === undefined) {
    if (name === provisionedName(work.claim)) return undefined;
    throw new ClaimProblem(
      "CompositeNotFound",
      `there is no ${work.composites.kind} ${name}, which spec.resourceRef names; create it, or remove the field to have one made`,
    );
  }
  if (claimOf(work, composite) === "another") {
    throw new ClaimProblem(
      "CompositeOfAnother",
      `the ${work.composites.kind} ${name} is bound to another claim; name another, or remove spec.resourceRef to have one made`,
    );
  }
  return composite;
}

/** Whose a composite is, by its `spec.claimRef`. */
export function claimOf({ claim, claims }: ClaimWork, composite: LiveObject): "ours" | "another" | "nobody" {
  const reference = objectAt(composite, "spec")["claimRef"];
  if (reference === undefined) return "nobody";
  const isOurs =
    textAt(reference, "name") === claim.metadata.name &&
    textAt(reference, "namespace") === claim.metadata.namespace &&
    // In whatever version: definitions come to have others.
    groupKind(textAt(reference, "apiVersion") ?? "", textAt(reference, "kind") ?? "") ===
      groupKind(apiVersionOf(claims), claims.kind);
  return isOurs ? "ours" : "another";
}

/** What a composite says of its claim. */
export function claimReference({ claim, claims }: ClaimWork): JsonObject {
  const { name, namespace = "" } = claim.metadata;
  return { apiVersion: apiVersionOf(claims), kind: claims.kind, namespace, name };
}

/**
 * Records in the claim what it is bound to, before anything is made: its finalizer, `resourceRef`, and how its composite is to
 * be deleted.
 */
export async function recordBinding(work: ClaimWork, name: string): Promise<void> {
  const { claim, composites, definition } = work;
  const finalizers = (claim.metadata["finalizers"] ?? []) as string[];
  const spec: JsonObject = {};
  const wanted: JsonObject = { apiVersion: apiVersionOf(composites), kind: composites.kind, name };
  const bound = objectAt(claim, "spec", "resourceRef");
  if (Object.keys(wanted).some((field) => bound[field] !== wanted[field])) spec["resourceRef"] = wanted;
  if (textAt(claim, "spec", "compositeDeletePolicy") === undefined) {
    spec["compositeDeletePolicy"] = definition.spec.defaultCompositeDeletePolicy;
  }
  const hasFinalizer = finalizers.includes(FINALIZER_CLAIM);
  if (hasFinalizer && Object.keys(spec).length === 0) return;
  const metadata: JsonObject = hasFinalizer ? {} : { finalizers: [...finalizers, FINALIZER_CLAIM] };
  await patchClaim(work, { metadata, spec });
}
