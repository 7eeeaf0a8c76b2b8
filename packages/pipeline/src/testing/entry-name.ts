import { ANNOTATION_RESOURCE_NAME } from "@xfn/composition";
import { isObject, type JsonValue } from "@xfn/json";

/** The name of a resource's entry, from its annotation. */
export function entryName(resource: JsonValue): string | undefined {
  const metadata = isObject(resource) && isObject(resource["metadata"]) ? resource["metadata"] : {};
  const annotations = isObject(metadata["annotations"]) ? metadata["annotations"] : {};
  const name = annotations[ANNOTATION_RESOURCE_NAME];
  return typeof name === "string" ? name : undefined;
}
