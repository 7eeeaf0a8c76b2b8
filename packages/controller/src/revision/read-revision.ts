import { type Composition, checkComposition, documentOf } from "@xfn/composition";
import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { COMPOSITIONS, REVISIONS } from "../objects/kinds.ts";
import { controllerOf, isControlledBy } from "../objects/owner.ts";
import { SelectionError } from "./selection-error.ts";

// A revision only changes its number, and a cache returns the same object until it does: each object is parsed once.
const parsed = new WeakMap<LiveObject, Composition>();

/**
 * The Composition as it was at a revision. The same object for the same revision.
 *
 * @throws {SelectionError} `InvalidComposition`
 */
export function compositionOf(revision: LiveObject): Composition {
  const known = parsed.get(revision);
  if (known !== undefined) return known;
  const { revision: _, ...spec } = REVISIONS.of(revision).spec.toJSON();
  const { labels, name } = revision.metadata;
  const metadata: JsonObject = { name: controllerOf(revision)?.name ?? name, ...(labels !== undefined && { labels }) };
  const document: JsonObject = { apiVersion: revision.apiVersion, kind: COMPOSITIONS.kind, metadata, spec };
  const { composition, error: cause } = checkComposition(documentOf(document));
  if (composition === undefined) {
    throw new SelectionError("InvalidComposition", `the revision ${name} has errors: ${cause.message}`, { cause });
  }
  parsed.set(revision, composition);
  return composition;
}

/** The number of a revision; 0 if it has none. */
export function numberOf(revision: LiveObject): number {
  return REVISIONS.of(revision).spec.revision ?? 0;
}

/**
 * The newest of the revisions that a Composition controls. Two revisions briefly have one number if two controllers
 * overlap. Then the first name wins, so that all caches agree.
 */
export function latestOf(composition: LiveObject, revisions: readonly LiveObject[]): LiveObject | undefined {
  let latest: LiveObject | undefined;
  for (const revision of revisions) {
    if (!isControlledBy(revision, composition) || numberOf(revision) === 0) continue;
    if (latest === undefined || isNewer(revision, latest)) latest = revision;
  }
  return latest;
}

/** Whether one revision of a Composition is newer than another. */
export function isNewer(a: LiveObject, b: LiveObject): boolean {
  const [mine, theirs] = [numberOf(a), numberOf(b)];
  return mine === theirs ? a.metadata.name < b.metadata.name : mine > theirs;
}
