import { machineryOf } from "@xfn/composition";
import { type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { compositesOf, type RevisionComposites } from "../definition/find-definition.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { isPaused, type Reader } from "../objects/read-objects.ts";
import { followsNewest } from "../revision/rollout-state.ts";

/**
 * Finds the XRs that a rollout concerns, in the caches: those that use the Composition's newest revision by themselves,
 * without the paused and the deleted ones.
 *
 * @param composition its name
 * @returns `none` without a definition of the kind, `unknown` while the XRs are not listed
 */
export function followersOf(
  reader: Pick<Reader, "informers">,
  revision: LiveObject,
  composition: string,
): RevisionComposites | "none" | "unknown" {
  const found = compositesOf(reader, revision);
  if (typeof found === "string") return found;
  const { definition, xrs } = found;
  return { definition, xrs: xrs.filter((xr) => isFollower(definition, xr, composition)) };
}

function isFollower(definition: Definition, xr: LiveObject, composition: string): boolean {
  if (isBeingDeleted(xr) || isPaused(xr)) return false;
  const { enforcedCompositionRef } = definition.spec;
  const recorded = textAt(machineryOf(xr, layoutOfDefinition(definition)), "compositionRef", "name");
  return (enforcedCompositionRef?.name ?? recorded) === composition && followsNewest(definition, xr);
}
