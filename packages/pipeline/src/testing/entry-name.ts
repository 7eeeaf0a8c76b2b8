import { ANNOTATION_RESOURCE_NAME } from "@xfn/composition";
import { type JsonValue, textAt } from "@xfn/json";

/** The name of a resource's entry, from its annotation. */
export function entryName(resource: JsonValue): string | undefined {
  return textAt(resource, "metadata", "annotations", ANNOTATION_RESOURCE_NAME);
}
