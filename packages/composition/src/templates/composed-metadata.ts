import { type JsonObject, newObject } from "@xfn/json";
import { ANNOTATION_RESOURCE_NAME, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE } from "../api/labels.ts";
import { isObject, kindOf } from "../values/json.ts";
import { areTexts, stringsOf, type WrongText } from "../values/metadata-texts.ts";
import { field, textOf } from "../values/object-fields.ts";

/** The fields that composed resources inherit from their XR. */
export interface CompositeIdentity {
  /** The `crossplane.io/composite` label; empty if the XR has none. */
  composite: string;
  claimName: string;
  claimNamespace: string;
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

/** Returns the type of a name that is not a string. A patch may write a number, which Kubernetes rejects as a name. */
export function wrongNameType(resource: JsonObject): string | undefined {
  const metadata = field(resource, "metadata");
  const name = isObject(metadata) ? (field(metadata, "name") ?? null) : null;
  return name === null || typeof name === "string" ? undefined : kindOf(name);
}

/** Reads the inherited fields. A missing field, or one that is not a string, is empty. */
export function compositeIdentity(composite: JsonObject): CompositeIdentity {
  const metadata = field(composite, "metadata");
  const meta = isObject(metadata) ? metadata : newObject();
  const found = field(meta, "labels");
  const labels = isObject(found) ? found : newObject();
  return {
    composite: textOf(labels, LABEL_COMPOSITE),
    claimName: textOf(labels, LABEL_CLAIM_NAME),
    claimNamespace: textOf(labels, LABEL_CLAIM_NAMESPACE),
    apiVersion: textOf(composite, "apiVersion"),
    kind: textOf(composite, "kind"),
    name: textOf(meta, "name"),
    uid: textOf(meta, "uid"),
  };
}

/**
 * Sets labels, annotation and owner of a composed resource. Runs after the patches, so that no patch can forge them.
 * Leaves out labels and annotations of other types than string, because Kubernetes would refuse the whole object, and
 * adds them to `dropped`.
 *
 * @returns false if another object controls the resource, which then must not be applied
 */
export function setComposedMetadata(
  resource: JsonObject,
  entry: string,
  identity: CompositeIdentity,
  dropped: WrongText[],
): boolean {
  const metadata = field(resource, "metadata");
  // A patch replaced the metadata. As in Crossplane it stays, and applying the resource fails.
  if (!isObject(metadata)) return true;
  // Kubernetes reads a null as an absent name.
  if (metadata["name"] === null) delete metadata["name"];
  const labels = textsOf(metadata, "labels", dropped);
  labels[LABEL_COMPOSITE] = identity.composite;
  labels[LABEL_CLAIM_NAME] = identity.claimName;
  labels[LABEL_CLAIM_NAMESPACE] = identity.claimNamespace;
  metadata["labels"] = labels;
  const annotations = textsOf(metadata, "annotations", dropped);
  annotations[ANNOTATION_RESOURCE_NAME] = entry;
  metadata["annotations"] = annotations;
  return setController(metadata, identity);
}

/** The field itself if all its values are strings, as almost always: a copy of each one would slow rendering. */
function textsOf(metadata: JsonObject, name: string, dropped: WrongText[]): JsonObject {
  const found = field(metadata, name);
  return areTexts(found) ? found : stringsOf(metadata, name, dropped);
}

function setController(metadata: JsonObject, identity: CompositeIdentity): boolean {
  const { uid } = identity;
  const controller = newObject();
  controller["apiVersion"] = identity.apiVersion;
  controller["kind"] = identity.kind;
  controller["name"] = identity.name;
  controller["uid"] = uid;
  controller["controller"] = true;
  controller["blockOwnerDeletion"] = true;
  const found = field(metadata, "ownerReferences");
  if (!Array.isArray(found) || !found.every(isObject)) {
    metadata["ownerReferences"] = [controller];
    return true;
  }
  const owners = found.map(ownerReference);
  const current = owners.find((owner) => owner["controller"] === true);
  if (current !== undefined && current["uid"] !== uid) return false;
  const same = owners.findIndex((owner) => owner["uid"] === uid);
  if (same === -1) owners.push(controller);
  else owners[same] = controller;
  metadata["ownerReferences"] = owners;
  return true;
}

/** An owner reference with the fields that Kubernetes knows. */
function ownerReference(owner: JsonObject): JsonObject {
  const reference = newObject();
  for (const name of ["apiVersion", "kind", "name", "uid"]) reference[name] = textOf(owner, name);
  for (const name of ["controller", "blockOwnerDeletion"]) {
    const value = field(owner, name);
    if (typeof value === "boolean") reference[name] = value;
  }
  return reference;
}
