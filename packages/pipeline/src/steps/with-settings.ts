import { compileGuard, type Guard, type GuardOutcome, type StepSettings } from "@xfn/composition";
import { PipelineError, type PipelineErrorCode } from "../outcome/pipeline-error.ts";
import { stepMessage } from "../outcome/step-message.ts";
import { desiredFor, observedFor } from "../settings/guard-states.ts";
import { retryingStep } from "../settings/retry.ts";
import { schemaProblems } from "../settings/strict.ts";
import { TimeLimit, TimeLimitError } from "../settings/time-limit.ts";
import { invalidDesired } from "./check-desired.ts";
import type { PlannedStep, PreparedStep, Run, State, StepReport } from "./step.ts";

/**
 * Applies the settings that steps of all kinds share: `when`, `timeout`, `retries` and `schema`. The guard is
 * compiled once for all runs.
 */
export function withSettings(step: PlannedStep, settings: StepSettings): PlannedStep {
  const { timeoutMs, retries, when, schema } = settings;
  if ([timeoutMs, retries, when, schema].every((setting) => setting === undefined)) return step;
  const guard = when === undefined ? undefined : compileGuard(when);
  return {
    description: step.description,
    async prepare(run, signal) {
      const prepared = new StepWithSettings(step, settings, guard, run);
      await prepared.prepare(signal);
      return prepared;
    },
  };
}

class StepWithSettings implements PreparedStep {
  readonly #step: PlannedStep;
  readonly #settings: StepSettings;
  readonly #guard: ReturnType<typeof compileGuard> | undefined;
  readonly #run: Run;
  readonly #limit: TimeLimit | undefined;
  #outcome: GuardOutcome | undefined;
  #prepared: PreparedStep | undefined;

  constructor(step: PlannedStep, settings: StepSettings, guard: ReturnType<typeof compileGuard> | undefined, run: Run) {
    this.#step = step;
    this.#settings = settings;
    this.#guard = guard;
    this.#run = run;
    this.#limit = settings.timeoutMs === undefined ? undefined : new TimeLimit(settings.timeoutMs);
  }

  /**
   * Prepares the step, unless its guard shows that it does not run. A guard on desired state is known only when
   * earlier steps have run; the step prepares then.
   */
  async prepare(signal: AbortSignal | undefined): Promise<void> {
    if (this.#guard === undefined) this.#outcome = { holds: true };
    else if (!("problem" in this.#guard) && this.#guard.readsDesired) return;
    else this.#outcome = this.#evaluate(this.#guard, undefined);
    if (!isTrue(this.#outcome)) return;
    await this.#limited(signal, async (limited) => {
      this.#prepared = await this.#prepare(limited, undefined);
    });
  }

  async run(state: State, report: StepReport): Promise<State> {
    const outcome = this.#outcome ?? this.#evaluate(this.#guard, state);
    if ("failure" in outcome) throw this.#failed("WhenFailed", `its when ${outcome.failure}`);
    if (!outcome.holds) {
      report.recorder?.skipped(this.#settings.when ?? "");
      return state;
    }
    return await this.#limited(report.signal, async (signal) => {
      const prepared = this.#prepared ?? (await this.#prepare(signal, report));
      const after = await this.#retrying(signal, report, async () => await prepared.run(state, { ...report, signal }));
      if (this.#settings.schema === "Strict" && after.fatal === undefined) await this.#checkSchemas(state, after);
      return after;
    });
  }

  async #prepare(signal: AbortSignal | undefined, report: StepReport | undefined): Promise<PreparedStep> {
    return await this.#retrying(signal, report, async () => await this.#step.prepare(this.#run, signal));
  }

  #evaluate(guard: Guard | { readonly problem: string } | undefined, state: State | undefined): GuardOutcome {
    if (guard === undefined) return { holds: true };
    if ("problem" in guard) return { failure: guard.problem };
    const outcome = guard.evaluate({
      observed: () => observedFor(this.#run.observed),
      desired: () => desiredFor(state?.desired ?? {}),
    });
    return "failure" in outcome ? { failure: `cannot be evaluated: ${outcome.failure}; ${ADVICE}` } : outcome;
  }

  async #checkSchemas({ desired: before }: State, { desired: after }: State): Promise<void> {
    const { input, observed } = this.#run;
    if (input.schemas === undefined) return;
    const problems = await schemaProblems({ observed, before, after }, input.schemas);
    if (problems.length === 0) return;
    const { name, image } = this.#step.description;
    throw invalidDesired(
      { name, image: image ?? "", called: image },
      "its desired state does not match the schemas of its kinds (schema: Strict)",
      problems,
    );
  }

  async #retrying<T>(
    signal: AbortSignal | undefined,
    report: StepReport | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const { retries = 0 } = this.#settings;
    const isRepeatable = (error: unknown): boolean => error instanceof PipelineError && error.undelivered;
    return await retryingStep(work, { retries, isRepeatable, onRetry: () => report?.recorder?.retried(), signal });
  }

  async #limited<T>(
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    if (this.#limit === undefined) return await work(signal);
    try {
      return await this.#limit.within(signal, work);
    } catch (error) {
      if (!(error instanceof TimeLimitError)) throw error;
      const seconds = (this.#settings.timeoutMs ?? 0) / 1000;
      const problem = `it took longer than its timeout of ${seconds} s; raise the step's timeout if it needs longer`;
      throw this.#failed("Timeout", problem, error.cause);
    }
  }

  #failed(code: PipelineErrorCode, problem: string, cause?: unknown): PipelineError {
    const { name, image } = this.#step.description;
    const stderr = cause instanceof PipelineError ? cause.stderr : undefined;
    return new PipelineError(code, stepMessage(name, image, problem), {
      step: name,
      image,
      cause,
      stderr,
      retryable: code === "Timeout",
    });
  }
}

function isTrue(outcome: GuardOutcome): boolean {
  return "holds" in outcome && outcome.holds;
}

const ADVICE = "test fields that can be absent with has()";
