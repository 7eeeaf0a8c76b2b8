import { type Composition, CompositionError, checkComposition, documentOf } from "@xfn/composition";
import type { JsonObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { controllerOf } from "../objects/owner.ts";
import { objectAt } from "../objects/read-objects.ts";
import { SelectionError } from "./selection-error.ts";

// A revision does not change but in its number, and a cache gives the same object until it does: each is read once.
const read = new WeakMap<LiveObject, Composition>();

/**
 * The Composition that a revision is one of, as it was then.
 *
 * @throws {SelectionError} `InvalidComposition`
 */
export function compositionOf(revision: LiveObject): Composition {
  const known = read.get(revision);
  if (known !== undefined) return known;
  const { revision: _, ...spec } = objectAt(revision, "spec");
  const { labels, name } = revision.metadata;
  const metadata: JsonObject = { name: controllerOf(revision)?.name ?? name, ...(labels !== undefined && { labels }) };
  const document: JsonObject = { apiVersion: revision.apiVersion, kind: "Composition", metadata, spec };
  const { composition, findings } = checkComposition(documentOf(document));
  if (composition === undefined) {
    const { message } = new CompositionError(findings.filter(({ severity }) => severity === "error"));
    throw new SelectionError("InvalidComposition", `the revision ${name} has errors: ${message}`);
  }
  read.set(revision, composition);
  return composition;
}

/** The number of a revision; 0 if it has none. */
export function numberOf(revision: LiveObject): number {
  const { revision: number } = objectAt(revision, "spec");
  return typeof number === "number" ? number : 0;
}

/**
 * The newest of a Composition's own revisions: those that it controls. Of two with one number, which is soon mended, the first by
 * name: all caches agree on it, whatever their order.
 */
export function latestOf(composition: LiveObject, revisions: readonly LiveObject[]): LiveObject | undefined {
  let latest: LiveObject | undefined;
  for (const revision of revisions) {
    if (controllerOf(revision)?.uid !== composition.metadata.uid || numberOf(revision) === 0) continue;
    if (latest === undefined || isNewer(revision, latest)) latest = revision;
  }
  return latest;
}

function isNewer(a: LiveObject, b: LiveObject): boolean {
  const [mine, theirs] = [numberOf(a), numberOf(b)];
  return mine === theirs ? a.metadata.name < b.metadata.name : mine > theirs;
}
