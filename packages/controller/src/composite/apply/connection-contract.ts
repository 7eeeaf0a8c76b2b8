import { type Composition, checkConnectionKeys } from "@xfn/composition";
import type { PipelineResult } from "@xfn/pipeline";
import type { Condition } from "../../objects/conditions.ts";
import { secretReferenceOf } from "../../objects/connection-secrets.ts";
import { emitEvent } from "../state/emit-events.ts";
import type { ReconcileContext } from "../state/reconcile-context.ts";

/**
 * The condition `Ready` of an XR whose Composition breaks the contract of its definition, that each connection key is
 * exposed exactly once. Undefined if the contract holds, or the XR has no connection secret.
 */
export function brokenContract(
  context: ReconcileContext,
  composition: Composition,
  { connectionDetails }: Pick<PipelineResult, "connectionDetails">,
): Condition | undefined {
  const { definition, layout, xr } = context;
  const { connectionSecretKeys: keys } = definition.spec;
  if (keys.length === 0) return undefined;
  if (definition.kind !== "InfrastructureDefinition" && secretReferenceOf(xr, layout) === undefined) return undefined;
  const names = [...connectionDetails].map(([name]) => name);
  const broken = checkConnectionKeys(composition, keys, undefined, names)
    .filter(({ code }) => code === "Duplicate" || code === "Required")
    .map(({ message }) => message);
  if (broken.length === 0) return undefined;
  const { name = "" } = composition.metadata;
  const message = `the Composition ${name} breaks the connection contract of its definition: ${broken.join("; ")}`;
  emitEvent(context, "Warning", message, "PublishConnectionSecret");
  return { type: "Ready", status: "False", reason: "ConnectionContract", message };
}
