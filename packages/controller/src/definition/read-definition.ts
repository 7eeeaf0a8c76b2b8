import { documentOf } from "@xfn/composition";
import { checkDefinition, type Definition, type LowerOptions } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";
import { reservedGroupOwner } from "@xfn/package/reserved-groups";

/** Parses a definition of any kind, and checks its group. The problem has a line for each invalid field. */
export function checkLiveDefinition(
  object: LiveObject,
  options: LowerOptions = {},
): { definition: Definition } | { problem: string } {
  const { definition, error } = checkDefinition(documentOf(object), options);
  if (definition === undefined) return { problem: error.message };
  const { group } = definition.spec;
  const owner = reservedGroupOwner(group);
  if (owner === undefined) return { definition };
  return { problem: `spec.group: the API group ${group} belongs to ${owner}; define the kind in a group of your own` };
}

/** Parses a definition of any kind; undefined if it has errors, which its condition reports. */
export function readDefinition(object: LiveObject, options: LowerOptions = {}): Definition | undefined {
  const checked = checkLiveDefinition(object, options);
  return "definition" in checked ? checked.definition : undefined;
}
