import type { LiveObject } from "@xfn/kubernetes";
import { INFRASTRUCTURE_DEFINITIONS, PUBLICATIONS } from "../objects/kinds.ts";
import type { DefinitionPort } from "./definition-port.ts";

/** The watched InfrastructurePublication of an InfrastructureDefinition; undefined if there is none. */
export function publicationOf(
  { informers }: Pick<DefinitionPort, "informers">,
  { kind, metadata }: LiveObject,
): LiveObject | undefined {
  return kind === INFRASTRUCTURE_DEFINITIONS.kind ? informers.peek(PUBLICATIONS)?.get(metadata.name) : undefined;
}
