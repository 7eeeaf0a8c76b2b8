import type { Definition, KindNames } from "@xfn/composition/definition";
import type { ResourceKind } from "@xfn/kubernetes";

/** The kind of a definition's composites, in the version that compositions are written for. */
export function compositeKindOf(definition: Definition): ResourceKind {
  return kindOf(definition, definition.spec.names, false);
}

/**
 * The kind of a definition's claims.
 *
 * @throws {TypeError} if it offers none
 */
export function claimKindOf(definition: Definition): ResourceKind {
  const { claimNames } = definition.spec;
  if (claimNames === undefined) throw new TypeError(`${definition.metadata.name ?? ""} offers no claims`);
  return kindOf(definition, claimNames, true);
}

function kindOf({ spec }: Definition, { kind, plural }: KindNames, namespaced: boolean): ResourceKind {
  const version = spec.versions.find(({ referenceable }) => referenceable)?.name ?? "";
  return { group: spec.group, version, kind, plural, namespaced };
}
