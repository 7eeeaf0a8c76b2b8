import { documentOf } from "@xfn/composition";
import { checkDefinition, type Definition } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";

/** Parses a CompositeResourceDefinition. A problem has a line for each invalid field. */
export function checkLiveDefinition(object: LiveObject): { definition: Definition } | { problem: string } {
  const { definition, error } = checkDefinition(documentOf(object));
  return definition === undefined ? { problem: error.message } : { definition };
}

/** Parses a CompositeResourceDefinition; undefined if it has errors, which its condition reports. */
export function readDefinition(object: LiveObject): Definition | undefined {
  const checked = checkLiveDefinition(object);
  return "definition" in checked ? checked.definition : undefined;
}
