import { ANNOTATION_RESOURCE_NAME } from "@xfn/composition";
import { isObject, type JsonValue } from "@xfn/json";
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
  if (!isObject(object) || !isObject(object["metadata"])) return false;
  const { name, namespace, annotations } = object["metadata"];
  if (isObject(annotations) && Object.hasOwn(annotations, ANNOTATION_RESOURCE_NAME)) return false;
  return (
    object["kind"] === composite.kind &&
    groupOf(object) === groupOf(composite) &&
    name === composite.metadata.name &&
    (namespace ?? "") === (composite.metadata.namespace ?? "")
  );
}

function groupOf(object: JsonValue): string {
  const apiVersion = isObject(object) ? object["apiVersion"] : undefined;
  return typeof apiVersion === "string" && apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}
