import { documentOf } from "@xfn/composition";
import { checkDefinition, type Definition, DefinitionError } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";

/** Parses a CompositeResourceDefinition. A problem has a line for each invalid field. */
export function checkLiveDefinition(object: LiveObject): { definition: Definition } | { problem: string } {
  const { definition, findings } = checkDefinition(documentOf(object));
  if (definition !== undefined) return { definition };
  const errors = findings.filter(({ severity }) => severity === "error");
  return { problem: new DefinitionError("Invalid", errors).message };
}

/** Parses a CompositeResourceDefinition; undefined if it has errors, which its condition reports. */
export function readDefinition(object: LiveObject): Definition | undefined {
  const checked = checkLiveDefinition(object);
  return "definition" in checked ? checked.definition : undefined;
}
