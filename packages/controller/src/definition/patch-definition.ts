import { isObject, type JsonObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { DEFINITIONS } from "../objects/kinds.ts";
import { apiVersionOf, objectAt } from "../objects/read-objects.ts";
import { sameJson } from "../objects/same-json.ts";
import { DEFINITION_MANAGER } from "./definition-crd.ts";

/** The finalizers of an object. */
export function finalizersOf({ metadata }: LiveObject): string[] {
  const finalizers = metadata["finalizers"];
  return (Array.isArray(finalizers) ? finalizers : []).filter((one) => typeof one === "string");
}

/** Gives a definition these finalizers; those that are there already cost nothing. */
export async function setFinalizers(
  context: Context,
  definition: LiveObject,
  finalizers: readonly string[],
  signal: AbortSignal,
): Promise<LiveObject> {
  if (sameJson([...finalizers], finalizersOf(definition))) return definition;
  const { resourceVersion } = definition.metadata;
  return patch(context, definition, { metadata: { resourceVersion, finalizers: [...finalizers] } }, signal);
}

/** Sets conditions and the kinds that are reconciled (`status.controllers`); what is so already costs nothing. */
export async function setStatus(
  context: Context,
  definition: LiveObject,
  wanted: readonly Condition[],
  controllers: JsonObject,
  signal: AbortSignal,
): Promise<void> {
  const status = objectAt(definition, "status");
  const conditions = withConditions(status["conditions"], wanted, context.now());
  const before = objectAt(status, "controllers");
  const isSame = Object.keys(controllers).every((key) => {
    const has = before[key];
    return isObject(has) && sameJson(has, controllers[key] ?? null);
  });
  if (conditions === undefined && isSame) return;
  const { resourceVersion } = definition.metadata;
  const body: JsonObject = {
    metadata: { resourceVersion },
    status: { ...(conditions !== undefined && { conditions }), ...(!isSame && { controllers }) },
  };
  await patch(context, definition, body, signal, "status");
}

function patch(
  { client }: Context,
  { metadata }: LiveObject,
  body: JsonObject,
  signal: AbortSignal,
  subresource?: "status",
): Promise<LiveObject> {
  const reference = { apiVersion: apiVersionOf(DEFINITIONS), kind: DEFINITIONS.kind, name: metadata.name };
  return client.patch(reference, "merge", body, { fieldManager: DEFINITION_MANAGER, signal, subresource });
}
