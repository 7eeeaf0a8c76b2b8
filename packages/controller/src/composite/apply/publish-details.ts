import type { LiveObject } from "@xfn/kubernetes";
import type { PipelineResult } from "@xfn/pipeline";
import { secretReferenceOf, unsupportedPublishing } from "../../objects/connection-secrets.ts";
import { controllerOf } from "../../objects/owner.ts";
import { firstFailure } from "../../plan/outcome.ts";
import { planSecret, secretFailure } from "../plan/plan-secret.ts";
import type { CompositePort, Subject } from "../state/composite-port.ts";

/**
 * Writes the XR's connection details to its connection secret, if it has one.
 *
 * @param observed the secret, read live; undefined if it does not exist
 * @returns whether it wrote
 */
export async function publishDetails(
  { shown, writer }: CompositePort,
  { definition, layout, memory, xr }: Subject,
  { unready, connectionDetails }: Pick<PipelineResult, "unready" | "connectionDetails">,
  observed: LiveObject | undefined,
): Promise<boolean> {
  const unsupported = unsupportedPublishing(xr, layout);
  if (unsupported !== undefined) shown.warn(unsupported, "PublishConnectionSecret");
  const secret = secretReferenceOf(xr, layout);
  // An XR without details must not publish an empty Secret, because a claim would copy it.
  if (secret === undefined || (observed === undefined && connectionDetails.size === 0 && unready.length > 0)) {
    return false;
  }
  const { connectionSecretKeys: keys } = definition.spec;
  const details = [...connectionDetails].filter(([name]) => keys.length === 0 || keys.includes(name));
  const plan = planSecret({ xr, secret, details, observed, applies: memory.applies });
  const outcome = await writer.executeOnce(plan);
  const failed = firstFailure(outcome);
  if (failed !== undefined) throw secretFailure(failed.error, secret);
  if (observed !== undefined && controllerOf(observed) === undefined)
    shown.addAdoption(xr, "connection secret", observed);
  return outcome.results.size > 0;
}
