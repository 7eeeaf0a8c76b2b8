import { documentOf } from "@xfn/composition";
import { checkDefinition, type Definition, DefinitionError } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";

/** A CompositeResourceDefinition as the server holds it, or what is wrong with it: one line for each field. */
export function checkLiveDefinition(object: LiveObject): { definition: Definition } | { problem: string } {
  const { definition, findings } = checkDefinition(documentOf(object));
  if (definition !== undefined) return { definition };
  const errors = findings.filter(({ severity }) => severity === "error");
  return { problem: new DefinitionError("Invalid", errors).message };
}

/** A CompositeResourceDefinition as the server holds it; undefined for one with errors, of which its condition tells. */
export function readDefinition(object: LiveObject): Definition | undefined {
  const checked = checkLiveDefinition(object);
  return "definition" in checked ? checked.definition : undefined;
}
