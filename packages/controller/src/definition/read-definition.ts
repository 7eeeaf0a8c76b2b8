import { documentOf } from "@xfn/composition";
import {
  checkDefinition,
  claimCrd,
  compositeCrd,
  type Definition,
  type LowerOptions,
} from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";
import { reservedGroupOwner } from "@xfn/package/reserved-groups";
import { INSTANCES } from "../kinds/instance-descriptions.ts";
import { definitionKey } from "../objects/kinds.ts";
import type { DefinitionMemory, Subject } from "./definition-port.ts";

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

/** A definition with the CRDs of its composites, and of its claims if it offers them; the problem if it has errors. */
export function subjectOf(object: LiveObject, memory: DefinitionMemory): Subject | { readonly problem: string } {
  const checked = checkLiveDefinition(object);
  if (!("definition" in checked)) return checked;
  const { definition } = checked;
  const offersClaims = definition.spec.claimNames !== undefined;
  const crds = {
    composites: compositeCrd(object, INSTANCES),
    ...(offersClaims && { claims: claimCrd(object, INSTANCES) }),
  };
  return { object, definition, key: definitionKey(definition, object.metadata.name), crds, memory };
}
