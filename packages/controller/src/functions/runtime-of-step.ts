import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { CompositeError } from "../objects/composite-error.ts";
import { conditionOf, isTrue } from "../objects/conditions.ts";
import { FUNCTION_RUNTIMES } from "../objects/kinds.ts";
import { findCached, type Reader } from "../objects/read-objects.ts";
import { pinnedPackages } from "../package/pinned-packages.ts";

/**
 * The package of a step, with the digest from its CompositionRevision, once its runtime is healthy.
 *
 * @param reference `functionRef.package`
 * @throws {CompositeError} `FunctionNotReady`
 * @throws {ApiError}
 */
export async function runtimePackage(reader: Reader, revision: LiveObject, reference: string): Promise<string> {
  const pinned = pinnedPackages(revision).find((one) => one.package === reference);
  if (pinned === undefined) {
    const why = textAt(conditionOf(revision, "RuntimesHealthy"), "message") ?? "it is being resolved";
    throw notReady(reference, why);
  }
  const runtime = await findCached(reader, FUNCTION_RUNTIMES, pinned.runtime);
  if (isTrue(runtime ?? {}, "Healthy")) return pinned.resolvedPackage;
  const condition = runtime && conditionOf(runtime, "Healthy");
  const why = textAt(condition, "message") ?? "it is being prepared";
  throw notReady(reference, `the FunctionRuntime ${pinned.runtime} is not healthy: ${why}`);
}

function notReady(reference: string, why: string): CompositeError {
  return new CompositeError("FunctionNotReady", `the package ${reference} is not ready: ${why}`);
}
