import type { LiveObject } from "@xfn/kubernetes";
import { definitionKindOf } from "../objects/kinds.ts";
import { ANNOTATION_CLAIMABLE_BY } from "../objects/labels.ts";
import type { ClaimContext } from "./claim-context.ts";

/**
 * Whether a composite without a claim is offered to the claims of a claim's namespace: by an annotation of its own, or
 * of the definition. Neither can be set by the author of a claim.
 */
export function isClaimable(
  { claim, definition, informers }: Pick<ClaimContext, "claim" | "definition" | "informers">,
  composite: LiveObject,
): boolean {
  const { metadata } = definition;
  // Annotations change without a new generation, for which the definition is read again.
  const current = informers.peek(definitionKindOf(definition))?.get(metadata.name ?? "")?.metadata ?? metadata;
  return [composite.metadata, current].some(({ annotations }) =>
    namespacesIn(annotations?.[ANNOTATION_CLAIMABLE_BY]).some((one) => one === "*" || one === claim.metadata.namespace),
  );
}

function namespacesIn(text: string | undefined): string[] {
  return (text ?? "").split(",").map((one) => one.trim());
}
