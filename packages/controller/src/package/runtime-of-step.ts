import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { CompositeError } from "../objects/composite-error.ts";
import { conditionOf, isTrue } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FUNCTION_RUNTIMES, REVISIONS, referenceOf } from "../objects/kinds.ts";
import { findCached, type Reader } from "../objects/read-objects.ts";
import { pinnedPackages } from "./pinned-packages.ts";

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
    await useAgain(reader, revision);
    const why = textAt(conditionOf(revision, "RuntimesHealthy"), "message") ?? "it is being resolved";
    throw notReady(reference, why);
  }
  const runtime = await findCached(reader, FUNCTION_RUNTIMES, pinned.runtime);
  if (isTrue(runtime ?? {}, "Healthy")) return pinned.resolvedPackage;
  if (runtime === undefined) await useAgain(reader, revision);
  const condition = runtime && conditionOf(runtime, "Healthy");
  const why = textAt(condition, "message") ?? "it is being prepared";
  throw notReady(reference, `the FunctionRuntime ${pinned.runtime} is not healthy: ${why}`);
}

function notReady(reference: string, why: string): CompositeError {
  return new CompositeError("FunctionNotReady", `the package ${reference} is not ready: ${why}`);
}

/**
 * Lets the revision get its runtimes back at once. A failure is harmless, because the revision's next poll also detects
 * the use.
 */
async function useAgain({ client }: Reader, revision: LiveObject): Promise<void> {
  if (textAt(revision, "status", "unusedSince") === undefined) return;
  const { name, resourceVersion } = revision.metadata;
  const body = { metadata: { resourceVersion }, status: { unusedSince: null } };
  const options = { subresource: "status", fieldManager: FIELD_MANAGERS.package } as const;
  await client.patch(referenceOf(REVISIONS, name), "merge", body, options).catch(() => undefined);
}
