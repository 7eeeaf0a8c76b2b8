import { documentOf } from "@xfn/composition";
import { checkDefinition, type Definition, type LowerOptions } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";

/** Parses a definition of any kind. A problem has a line for each invalid field. */
export function checkLiveDefinition(
  object: LiveObject,
  options: LowerOptions = {},
): { definition: Definition } | { problem: string } {
  const { definition, error } = checkDefinition(documentOf(object), options);
  return definition === undefined ? { problem: error.message } : { definition };
}

/** Parses a definition of any kind; undefined if it has errors, which its condition reports. */
export function readDefinition(object: LiveObject, options: LowerOptions = {}): Definition | undefined {
  const checked = checkLiveDefinition(object, options);
  return "definition" in checked ? checked.definition : undefined;
}
