import { isObject, type JsonObject, sameJson } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { finalizersOf } from "../objects/finalizers.ts";
import { DEFINITIONS, definitionKindOf, referenceOf } from "../objects/kinds.ts";

/** Sets a definition's finalizers if they differ. */
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

/** Sets conditions and the reconciled kinds (`status.controllers`) if they differ. */
export async function setStatus(
  context: Context,
  definition: LiveObject,
  wanted: readonly Condition[],
  controllers: JsonObject,
  signal: AbortSignal,
): Promise<void> {
  const status = changedStatus(context, definition, wanted, controllers);
  if (status === undefined) return;
  const { resourceVersion } = definition.metadata;
  await patch(context, definition, { metadata: { resourceVersion }, status }, signal, "status");
}

/** The changes that {@link setStatus} makes; undefined if a definition already has these conditions and kinds. */
export function changedStatus(
  { now }: Context,
  definition: LiveObject,
  wanted: readonly Condition[],
  controllers: JsonObject,
): JsonObject | undefined {
  const conditions = withConditions(definition, wanted, now());
  const before = DEFINITIONS.of(definition).status.controllers.toJSON();
  const isSame = Object.keys(controllers).every((key) => {
    const current = before[key];
    return isObject(current) && sameJson(current, controllers[key] ?? null);
  });
  if (conditions === undefined && isSame) return undefined;
  return { ...(conditions !== undefined && { conditions }), ...(!isSame && { controllers }) };
}

function patch(
  { client }: Context,
  definition: LiveObject,
  body: JsonObject,
  signal: AbortSignal,
  subresource?: "status",
): Promise<LiveObject> {
  const options = { fieldManager: FIELD_MANAGERS.definition, signal, subresource };
  return client.patch(referenceOf(definitionKindOf(definition), definition.metadata.name), "merge", body, options);
}
