import { type Definition, isNamespaced, type KindNames } from "@xfn/composition/definition";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import { DEFINITIONS, INFRASTRUCTURE_DEFINITIONS } from "./kinds.ts";

/**
 * The kind of a definition's composites, in the referenceable version: Compositions name this version, and the server
 * stores it.
 */
export function compositeKindOf(definition: Definition): ResourceKind {
  return kindOf(definition, definition.spec.names, isNamespaced(definition.spec.scope));
}

/** The kind of composites that a definition names, in any format. Much faster than a full check of the definition. */
export function definedKind(object: LiveObject): string | undefined {
  return (
    DEFINITIONS.of(object).spec.names.kind ?? INFRASTRUCTURE_DEFINITIONS.of(object).spec.crdSpecTemplate.names.kind
  );
}

/** The kind of a definition's claims, in the same version; undefined if the definition offers none. */
export function claimKindOf(definition: Definition): ResourceKind | undefined {
  const { claimNames } = definition.spec;
  return claimNames && kindOf(definition, claimNames, true);
}

function kindOf({ spec }: Definition, { kind, plural }: KindNames, namespaced: boolean): ResourceKind {
  const version = spec.versions.find(({ referenceable }) => referenceable)?.name ?? "";
  return { group: spec.group, version, kind, plural, namespaced };
}
