import { ANNOTATION_RESOURCE_NAME } from "@xfn/composition";
import { type JsonValue, objectAt, textOrEmpty, valueAt } from "@xfn/json";
import type { CompositeResource } from "./observed-entries.ts";

/** The group of the documents that a render prints in addition to objects: `Result` and `Context`. */
const RENDER_GROUP = "render.crossplane.io";

/**
 * Keeps only the composed resources in the output of an earlier render: drops the XR itself, and the documents of the
 * render. So the output of one render can be the observed resources of the next.
 */
export function withoutOwnOutput(objects: readonly JsonValue[], composite: CompositeResource): JsonValue[] {
  return objects.filter((object) => groupOf(object) !== RENDER_GROUP && !isCopy(object, composite));
}

/** Whether an object is the XR, in any version. A composed resource of its kind has the annotation of its entry. */
function isCopy(object: JsonValue, composite: CompositeResource): boolean {
  const { name, namespace } = objectAt(object, "metadata");
  return (
    !isEntry(object) &&
    valueAt(object, "kind") === composite.kind &&
    groupOf(object) === groupOf(composite) &&
    name === composite.metadata.name &&
    (namespace ?? "") === (composite.metadata.namespace ?? "")
  );
}

/** Whether an object has the annotation with the name of its entry. */
export function isEntry(object: JsonValue): boolean {
  return valueAt(object, "metadata", "annotations", ANNOTATION_RESOURCE_NAME) !== undefined;
}

function groupOf(object: JsonValue): string {
  const apiVersion = textOrEmpty(object, "apiVersion");
  return apiVersion.slice(0, Math.max(0, apiVersion.indexOf("/")));
}
