import type { LiveObject } from "@xfn/kubernetes";
import { definitionKindOf } from "../objects/kinds.ts";
import { ANNOTATION_CLAIMABLE_BY } from "../objects/labels.ts";
import type { ClaimContext } from "./claim-context.ts";

/**
 * Whether a composite without a claim is offered to the claims of a namespace: by its own annotation, or by its
 * definition's. The author of a claim can set neither.
 */
export function isClaimable(
  { claim, definition, informers }: Pick<ClaimContext, "claim" | "definition" | "informers">,
  composite: LiveObject,
): boolean {
  const { metadata } = definition;
  // A change of an annotation does not change the generation, so the definition was not read again.
  const current = informers.peek(definitionKindOf(definition))?.get(metadata.name ?? "")?.metadata ?? metadata;
  return [composite.metadata, current].some(({ annotations }) =>
    namespacesIn(annotations?.[ANNOTATION_CLAIMABLE_BY]).some((one) => one === "*" || one === claim.metadata.namespace),
  );
}

function namespacesIn(text: string | undefined): string[] {
  return (text ?? "").split(",").map((one) => one.trim());
}
