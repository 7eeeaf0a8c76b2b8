import type { Definition } from "@xfn/composition/definition";
import { apiVersionOf, type LiveObject } from "@xfn/kubernetes";
import { compositeKindOf, definedKind } from "../objects/definition-kinds.ts";
import { APPLICATION_DEFINITIONS, DEFINITIONS, INFRASTRUCTURE_DEFINITIONS, REVISIONS } from "../objects/kinds.ts";
import type { Reader } from "../objects/read-objects.ts";
import { readDefinition } from "./read-definition.ts";

const OTHER_KINDS = [INFRASTRUCTURE_DEFINITIONS, APPLICATION_DEFINITIONS] as const;

/** The composite resources of a CompositionRevision's kind. */
export interface RevisionComposites {
  readonly definition: Definition;
  readonly xrs: readonly LiveObject[];
}

/**
 * Finds the composite resources of a revision's kind, in the caches.
 *
 * @returns `none` without a definition of the kind, `unknown` while they are not listed
 */
export function compositesOf(
  { informers }: Pick<Reader, "informers">,
  revision: LiveObject,
): RevisionComposites | "none" | "unknown" {
  const { apiVersion, kind } = REVISIONS.of(revision).spec.compositeTypeRef;
  const definitions = informers.peek(DEFINITIONS)?.list();
  if (definitions === undefined) return "unknown";
  // Without --enable-resource-composition, the other kinds are not watched.
  const others = OTHER_KINDS.flatMap((one) => informers.peek(one)?.list() ?? []);
  for (const object of [...definitions, ...others]) {
    if (definedKind(object) !== kind) continue;
    const definition = readDefinition(object);
    if (definition === undefined) continue;
    const composites = compositeKindOf(definition);
    if (apiVersionOf(composites) !== apiVersion) continue;
    const cached = informers.peek(composites);
    return cached === undefined ? "unknown" : { definition, xrs: cached.list() };
  }
  return "none";
}
