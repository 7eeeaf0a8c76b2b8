import { CompositionError, documentOf, type Operation, parseOperation } from "@xfn/composition";
import type { LiveObject, ObjectReference, Reconcile } from "@xfn/kubernetes";
import { type Backoff, pauseAfter } from "@xfn/lifetime";
import type { OperationResult } from "@xfn/pipeline/operation";
import { discoverKinds } from "../composite/observe/discover-kinds.ts";
import { explainFailure } from "../composite/state/explain-failure.ts";
import { NO_CALLBACKS, Shown } from "../composite/state/shown.ts";
import { OPERATIONS } from "../kinds/operations.ts";
import { asCompositeError, CompositeError } from "../objects/composite-error.ts";
import type { Condition } from "../objects/conditions.ts";
import { referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findCached, findLive } from "../objects/read-objects.ts";
import { describeReference, referenceTo } from "../objects/references.ts";
import type { Part } from "../package/plan-status.ts";
import { invalidPipeline, missingCapability, VALID_PIPELINE } from "../package/valid-pipeline.ts";
import type { Guard } from "../plan/action.ts";
import { execute, executeOrThrow, requireFound } from "../plan/execute.ts";
import { firstFailure } from "../plan/outcome.ts";
import type { OperationPort } from "./operation-port.ts";
import {
  desiredObjects,
  failedStatus,
  failureStatus,
  isEnded,
  planApply,
  recordedOutputs,
  recordedReferences,
  SUCCESS,
  startStatus,
} from "./plan-operation.ts";
import { planStatus } from "./plan-status.ts";
import { runSteps } from "./run-steps.ts";

/** As in Crossplane, so that the attempts of an Operation come at the same times. */
const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 60_000 };

/**
 * Reconciles Operations: runs their functions once, and applies what they desire. Failed attempts are repeated. The key
 * is the name.
 *
 * The start of each attempt is recorded before it, so that none is repeated without being counted.
 */
export function operationReconciler(port: OperationPort): Reconcile {
  /** When an Operation may be tried again, by its UID. */
  const notBefore = new Map<string, { readonly name: string; readonly at: number }>();
  const forget = (name: string): void => {
    for (const [uid, one] of notBefore) if (one.name === name) notBefore.delete(uid);
  };
  return async (name, signal) => {
    const cached = await findCached(port.access, OPERATIONS, name, signal);
    if (cached === undefined || isBeingDeleted(cached) || isEnded(cached)) {
      forget(name);
      return undefined;
    }
    const { uid } = cached.metadata;
    // The status of a failed attempt causes an event, which must not shorten the pause.
    const waitMs = (notBefore.get(uid)?.at ?? 0) - port.now();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    const operation = await findLive(port.access, referenceOf(OPERATIONS, name), signal);
    if (operation === undefined || isBeingDeleted(operation) || isEnded(operation)) return undefined;
    const failed = await new Attempt(port, operation, signal).run();
    if (failed === undefined) return undefined;
    notBefore.set(uid, { name, at: port.now() + pauseAfter(failed.failures, BACKOFF, () => 0) });
    throw failed.cause;
  };
}

/** A failed attempt that is repeated, after its status was written. */
interface FailedAttempt {
  readonly failures: number;
  readonly cause: unknown;
}

/** Why an attempt failed, and the reason of its event. */
type EventReason = "FunctionInvocation" | "InvalidPipeline" | "InvalidResource" | "InvalidOutput";

/** One attempt of an Operation. */
class Attempt {
  readonly #port: OperationPort;
  readonly #signal: AbortSignal;
  readonly #shown = new Shown(NO_CALLBACKS);
  readonly #applied: ObjectReference[] = [];
  #operation: LiveObject;
  #reason: EventReason = "FunctionInvocation";
  #pipeline: Condition = VALID_PIPELINE;

  constructor(port: OperationPort, operation: LiveObject, signal: AbortSignal) {
    this.#port = port;
    this.#operation = operation;
    this.#signal = signal;
  }

  /** @returns undefined if the Operation has ended */
  async run(): Promise<FailedAttempt | undefined> {
    const parsed = await this.#parse();
    if (parsed === undefined) return undefined;
    const start = startStatus(this.#operation, parsed.retryLimit);
    // Refused if the object was changed, such as by another attempt.
    await this.#write(start, "version");
    if (start.isFinal) return undefined;
    let result: OperationResult | undefined;
    try {
      this.#requireCapabilities(parsed);
      result = await this.#runSteps(parsed);
      await this.#apply(result);
      await this.#succeed(result);
      return undefined;
    } catch (error) {
      // The next start counts an attempt that the controller's end interrupts.
      if (this.#signal.aborted) throw error;
      this.#shown.secrets.scrubError(error);
      return await this.#fail(parsed, result, error);
    }
  }

  async #parse(): Promise<Operation | undefined> {
    try {
      return parseOperation(documentOf(this.#operation));
    } catch (error) {
      if (!(error instanceof CompositionError)) throw error;
      await this.#write(failedStatus(error.message), "version");
      return undefined;
    }
  }

  #requireCapabilities({ steps }: Operation): void {
    const names = steps.flatMap(({ functionRef: { name } }) => name ?? []);
    const missing = missingCapability(this.#port.access, names, "operation");
    if (missing === undefined) return;
    this.#reason = "InvalidPipeline";
    this.#pipeline = invalidPipeline(missing);
    throw new CompositeError("FunctionNotReady", missing);
  }

  async #runSteps({ steps }: Operation): Promise<OperationResult> {
    const shown = this.#shown;
    const result = await runSteps(this.#port, this.#operation, steps, { shown, signal: this.#signal });
    shown.addResults(result.results.filter(({ severity }) => severity !== "Fatal"));
    for (const { type, message } of shown.notes) this.#record(type, "RunPipelineStep", message);
    if (result.fatal === undefined) return result;
    const { step = "", message } = result.fatal;
    throw new CompositeError(
      "FatalResult",
      `pipeline step ${JSON.stringify(step)} returned a fatal result: ${message}`,
    );
  }

  /** @throws {CompositeError} for the first object that cannot be applied */
  async #apply(result: OperationResult): Promise<void> {
    this.#reason = "InvalidResource";
    const { client } = this.#port.access;
    const objects = desiredObjects(result);
    const kinds = await discoverKinds(
      client,
      objects.map(([, object]) => object),
      this.#signal,
    );
    const { allowComposedSecrets } = this.#port.limits;
    const plan = planApply(this.#operation, objects, { kinds, allowComposedSecrets });
    const execution = { actors: { own: { client } }, signal: this.#signal };
    const outcome = await execute(plan, {
      ...execution,
      onResult: ({ on }, { is }) => {
        if (is === "done") this.#applied.push(on);
      },
    });
    const failure = firstFailure(outcome);
    if (failure === undefined) return;
    const { action, error } = failure;
    throw asCompositeError(error, `cannot apply ${describeReference(action.on)}`, false, action.why);
  }

  async #succeed(result: OperationResult): Promise<void> {
    this.#reason = "InvalidOutput";
    await this.#write({ conditions: [this.#pipeline, ...SUCCESS], fields: this.#recorded(result) });
  }

  async #fail(
    parsed: Operation,
    result: OperationResult | undefined,
    cause: unknown,
  ): Promise<FailedAttempt | undefined> {
    const { reason, message: text } = explainFailure(cause);
    const message = this.#shown.secrets.scrub(`${reason}: ${text}`);
    this.#record("Warning", this.#reason, message);
    // The server may have refused the outputs.
    const outputs = this.#reason === "InvalidOutput" ? undefined : result;
    const more: Part = { conditions: [this.#pipeline], fields: this.#recorded(outputs) };
    const failure = failureStatus(this.#operation, parsed.retryLimit, message, more);
    await this.#write(failure);
    return failure.isFinal ? undefined : { failures: failure.failures, cause };
  }

  #recorded(result: OperationResult | undefined): Part["fields"] {
    return {
      ...recordedOutputs(this.#operation, result?.outputs ?? []),
      ...recordedReferences(this.#operation, this.#applied),
    };
  }

  #record(type: "Normal" | "Warning", reason: string, message: string): void {
    const { events } = this.#port;
    events.record(this.#operation, { type, reason, message: this.#shown.secrets.scrub(message) });
  }

  /** @throws {ApiError} */
  async #write(part: Part, guard?: Guard): Promise<void> {
    const { access, now } = this.#port;
    const plan = planStatus(this.#operation, part, now(), guard);
    const execution = { actors: { own: access }, signal: this.#signal, onResult: requireFound };
    const { latest } = await executeOrThrow(plan, execution);
    this.#operation = latest(referenceTo(this.#operation)) ?? this.#operation;
  }
}
