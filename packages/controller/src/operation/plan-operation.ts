import { isObject, type JsonObject, type KubernetesObject, textAt } from "@xfn/json";
import { ApiError, type LiveObject, namingProblem, type ObjectReference } from "@xfn/kubernetes";
import type { OperationResult, StepOutput } from "@xfn/pipeline/operation";
import type { Kinds } from "../composite/observe/discover-kinds.ts";
import { OPERATIONS } from "../kinds/operations.ts";
import { asCompositeError, CompositeError } from "../objects/composite-error.ts";
import { type Condition, conditionOf, RECONCILE_ERROR } from "../objects/conditions.ts";
import { appliedManager } from "../objects/field-managers.ts";
import { isSecretKind } from "../objects/kinds.ts";
import { describeReference, objectKey, referenceTo } from "../objects/references.ts";
import type { Part } from "../package/plan-status.ts";
import type { Action } from "../plan/action.ts";
import { type Plan, planInOrder } from "../plan/plan.ts";
import { SYNCED } from "./plan-status.ts";

const SUCCEEDED = "Succeeded";

/** Whether an Operation has ended: it is never run again. */
export function isEnded(operation: LiveObject): boolean {
  return hasSucceeded(operation) !== undefined;
}

/** Whether an Operation has succeeded, or failed; undefined before its end. */
export function hasSucceeded(operation: LiveObject): boolean | undefined {
  const status = conditionOf(operation, SUCCEEDED)?.["status"];
  return status === "True" ? true : status === "False" ? false : undefined;
}

/**
 * The status with which an attempt begins; or the final status, if the limit of failures is reached. It is written
 * before the attempt: an attempt that has started and not ended was interrupted, and counts as a failure.
 */
export function startStatus(operation: LiveObject, retryLimit: number): Part & { readonly isFinal: boolean } {
  const { failures = 0, attempts = 0 } = OPERATIONS.of(operation).status;
  const failed = Math.max(failures, attempts);
  if (failed < retryLimit) {
    const running: Condition = { type: SUCCEEDED, status: "Unknown", reason: "PipelineRunning" };
    return { conditions: [running], fields: { failures: failed, attempts: failed + 1 }, isFinal: false };
  }
  const last = conditionOf(operation, "Synced");
  const why =
    failed > failures ? INTERRUPTED : last?.["reason"] === RECONCILE_ERROR ? textAt(last, "message") : undefined;
  return { ...failedStatus(limitMessage(retryLimit, why)), fields: { failures: failed }, isFinal: true };
}

const INTERRUPTED = "the controller ended during the last one";

function limitMessage(limit: number, why: string | undefined): string {
  return `the limit of ${limit} failed attempts is reached${why === undefined ? "" : `: ${why}`}`;
}

/** The status of an Operation that is not repeated. */
export function failedStatus(message: string): Part {
  const failed: Condition = { type: SUCCEEDED, status: "False", reason: "PipelineError", message };
  return { conditions: [SYNCED, failed], fields: {} };
}

/** The status after a failed attempt. @param operation as the attempt began */
export function failureStatus(
  operation: LiveObject,
  retryLimit: number,
  message: string,
  more: Part,
): Part & { readonly failures: number; readonly isFinal: boolean } {
  const { attempts = 0, failures: earlier = 0 } = OPERATIONS.of(operation).status;
  // Crossplane's CRD, which may be installed, has no field for the attempts.
  const failures = Math.max(attempts, earlier + 1);
  const isFinal = failures >= retryLimit;
  const synced: Condition = { type: "Synced", status: "False", reason: RECONCILE_ERROR, message };
  const conditions = isFinal ? failedStatus(limitMessage(retryLimit, message)).conditions : [synced];
  return { conditions: [...more.conditions, ...conditions], fields: { ...more.fields, failures }, failures, isFinal };
}

/** The condition of an Operation whose objects are all applied. */
export const SUCCESS: readonly Condition[] = [SYNCED, { type: SUCCEEDED, status: "True", reason: "PipelineSuccess" }];

/** The outputs of steps in the status: one a step, in the order of the first output. */
export function recordedOutputs(operation: LiveObject, outputs: readonly StepOutput[]): JsonObject {
  const recorded = OPERATIONS.of(operation).status.pipeline.map((one): [string, JsonObject] => [
    one.step ?? "",
    one.toJSON(),
  ]);
  const all = new Map([...recorded, ...outputs.map(({ step, output }) => [step, { step, output }] as const)]);
  return all.size === 0 ? {} : { pipeline: [...all.values()] };
}

/** The objects in the status that the attempts of an Operation have applied: one reference each, sorted. */
export function recordedReferences(operation: LiveObject, applied: readonly ObjectReference[]): JsonObject {
  const recorded = OPERATIONS.of(operation).status.appliedResourceRefs.map((one) => one.toJSON());
  const now = applied.map(({ apiVersion, kind, namespace, name }): JsonObject => {
    return { apiVersion, kind, ...(namespace !== undefined && { namespace }), name };
  });
  const all = new Map([...recorded, ...now].map((one) => [textOf(one), one]));
  const sorted = [...all].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  return sorted.length === 0 ? {} : { appliedResourceRefs: sorted };
}

function textOf(reference: JsonObject): string {
  return ["apiVersion", "kind", "namespace", "name"].map((field) => textAt(reference, field) ?? "").join("\0");
}

/** The objects that a run desires, in the order of their entries. */
export function desiredObjects({ desired }: Pick<OperationResult, "desired">): readonly [string, KubernetesObject][] {
  return [...desired].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * Plans to apply what the functions desire. The Operation owns the fields, but not the objects: nothing is deleted with
 * it.
 *
 * @throws {CompositeError}
 */
export function planApply(
  operation: LiveObject,
  objects: readonly (readonly [string, KubernetesObject])[],
  {
    kinds,
    allowComposedSecrets = false,
  }: { readonly kinds: Kinds; readonly allowComposedSecrets?: boolean | undefined },
): Plan {
  const entries = new Map<string, string>();
  const actions = objects.map(([entry, object]): Action => {
    const title = `cannot apply desired resource ${JSON.stringify(entry)}`;
    const refuse = (problem: string): never => {
      throw new CompositeError("InvalidResource", `${title}: ${problem}`);
    };
    const kind = kinds.of(object);
    if (kind instanceof ApiError) throw asCompositeError(kind, title, false, describeReference(referenceTo(object)));
    if (!allowComposedSecrets && isSecretKind(kind)) throw secretsDisabled(title);
    const metadata = isObject(object.metadata) ? object.metadata : {};
    const { namespace, ...rest } = metadata;
    if (kind.namespaced && !namespace) refuse(`${kind.kind} is a namespaced kind; set metadata.namespace`);
    const intent = { ...object, metadata: { ...rest, ...(kind.namespaced && { namespace }) } } as KubernetesObject;
    const on = referenceTo(intent);
    const problem = namingProblem(on);
    if (problem !== undefined) refuse(`metadata.${problem}`);
    const other = entries.get(objectKey(on));
    if (other !== undefined)
      refuse(`${JSON.stringify(other)} is the same ${describeReference(on)}; give one another name`);
    entries.set(objectKey(on), entry);
    const why = `the entry ${JSON.stringify(entry)} desires it`;
    return {
      as: "own",
      on,
      manager: appliedManager(operation),
      why,
      do: "apply",
      intent,
      seen: undefined,
      guard: "none",
    };
  });
  return planInOrder("apply", actions);
}

function secretsDisabled(title: string): CompositeError {
  return new CompositeError(
    "SecretsDisabled",
    `${title}: Operations may not apply Secrets, because their authors could change every Secret; start the controller ` +
      "with --allow-composed-secrets to trust them with those",
  );
}
