import type { LiveObject } from "@xfn/kubernetes";
import type { PipelineResult } from "@xfn/pipeline";
import { publishConnectionSecret, secretReferenceOf, unsupportedPublishing } from "../../objects/connection-secrets.ts";
import { controllerOf } from "../../objects/owner.ts";
import { emitAdoption, emitEvent } from "../state/emit-events.ts";
import type { ReconcileContext } from "../state/reconcile-context.ts";

/**
 * Writes the XR's connection details to its connection secret, if it has one.
 *
 * @param observed the secret, read live; undefined if it does not exist
 * @returns whether it wrote
 */
export async function publishDetails(
  context: ReconcileContext,
  { unready, connectionDetails }: Pick<PipelineResult, "unready" | "connectionDetails">,
  observed: LiveObject | undefined,
): Promise<boolean> {
  const { actors, xr, definition, signal } = context;
  const unsupported = unsupportedPublishing(xr, context.layout);
  if (unsupported !== undefined) emitEvent(context, "Warning", unsupported, "PublishConnectionSecret");
  const secret = secretReferenceOf(xr, context.layout);
  // An XR without details yet must not publish an empty Secret, which a claim would copy.
  if (secret === undefined || (observed === undefined && connectionDetails.size === 0 && unready.length > 0)) {
    return false;
  }
  const { connectionSecretKeys: keys } = definition.spec;
  const details = [...connectionDetails].filter(([name]) => keys.length === 0 || keys.includes(name));
  const written = await publishConnectionSecret(actors.xr.client, { owner: xr, secret, details, observed, signal });
  if (observed !== undefined && controllerOf(observed) === undefined)
    emitAdoption(context, "connection secret", observed);
  return written;
}
