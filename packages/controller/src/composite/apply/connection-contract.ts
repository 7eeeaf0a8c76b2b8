import { type Composition, checkConnectionKeys } from "@xfn/composition";
import type { PipelineResult } from "@xfn/pipeline";
import type { Condition } from "../../objects/conditions.ts";
import { secretReferenceOf } from "../../objects/connection-secrets.ts";
import { emitEvent } from "../state/emit-events.ts";
import type { ReconcileContext } from "../state/reconcile-context.ts";

/**
 * The condition `Ready` of an XR whose Composition breaks the contract of its InfrastructureDefinition, that each
 * connection key is exposed exactly once. Undefined if the contract holds.
 *
 * Crossplane does not enforce the connectionSecretKeys of a CompositeResourceDefinition: several templates may write
 * one key, and the last one wins. Such an XR gets an event, and remains ready.
 */
export function brokenContract(
  context: ReconcileContext,
  composition: Composition,
  { connectionDetails }: Pick<PipelineResult, "connectionDetails">,
): Condition | undefined {
  const { definition, layout, xr } = context;
  const { connectionSecretKeys: keys } = definition.spec;
  if (keys.length === 0) return undefined;
  const isEnforced = definition.kind === "InfrastructureDefinition";
  if (!isEnforced && secretReferenceOf(xr, layout) === undefined) return undefined;
  const names = [...connectionDetails].map(([name]) => name);
  const broken = checkConnectionKeys(composition, keys, undefined, names)
    .filter(({ code }) => code === "Duplicate" || code === "Required")
    .map(({ message }) => message);
  if (broken.length === 0) return undefined;
  const { name = "" } = composition.metadata;
  const message = `the Composition ${name} breaks the connection contract of its definition: ${broken.join("; ")}`;
  emitEvent(context, "Warning", message, "PublishConnectionSecret");
  if (!isEnforced) return undefined;
  return { type: "Ready", status: "False", reason: "ConnectionContract", message };
}
