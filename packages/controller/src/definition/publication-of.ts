import type { LiveObject } from "@xfn/kubernetes";
import type { Context } from "../objects/context.ts";
import { INFRASTRUCTURE_DEFINITIONS, PUBLICATIONS } from "../objects/kinds.ts";

/** The watched InfrastructurePublication of an InfrastructureDefinition; undefined if there is none. */
export function publicationOf({ informers }: Context, { kind, metadata }: LiveObject): LiveObject | undefined {
  return kind === INFRASTRUCTURE_DEFINITIONS.kind ? informers.peek(PUBLICATIONS)?.get(metadata.name) : undefined;
}
