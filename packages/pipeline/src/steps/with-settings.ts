import { compileGuard, type Guard, type GuardOutcome, type StepSettings } from "@xfn/composition";
import { type Backoff, pauseAfter, retrying } from "@xfn/lifetime";
import { PipelineError } from "../outcome/pipeline-error.ts";
import { type FailedStep, stepError } from "../outcome/step-error.ts";
import { guardState } from "../settings/guard-states.ts";
import { schemaProblems } from "../settings/strict.ts";
import { timeLimit } from "../settings/time-limit.ts";
import { invalidDesired } from "./check-desired.ts";
import type { PlannedStep, PreparedStep, Run, State, StepReport } from "./step.ts";

/** A function that is being deployed, or a runner that restarts, is available again within seconds. */
const BACKOFF: Backoff = { firstMs: 100, longestMs: 5_000 };

/**
 * Applies the settings that steps of all kinds share: `when`, `timeout`, `retries` and `schema`. The guard is
 * compiled once for all runs.
 */
export function withSettings(step: PlannedStep, settings: StepSettings): PlannedStep {
  const { timeoutMs, retries, when, schema } = settings;
  if ([timeoutMs, retries, when, schema].every((setting) => setting === undefined)) return step;
  const guard = when === undefined ? undefined : compileGuard(when);
  const { name, image } = step.description;
  const failed = { step: name, image, called: image };
  return {
    description: step.description,
    async prepare(run, signal) {
      const within = timeLimit(timeoutMs, (cause) => timedOut(failed, timeoutMs ?? 0, cause));
      const prepare = async (limit: AbortSignal | undefined, report?: StepReport): Promise<PreparedStep> =>
        await repeating(retries, limit, report, async () => await step.prepare(run, limit));
      // A guard on desired state is known only when earlier steps have run; the step prepares then.
      const early = readsDesired(guard) ? undefined : evaluate(guard, run, undefined);
      const willRun = early !== undefined && "holds" in early && early.holds;
      const prepared = willRun ? await within(signal, prepare) : undefined;
      return {
        async run(state, report) {
          const outcome = early ?? evaluate(guard, run, state);
          if ("failure" in outcome) throw stepError(failed, "WhenFailed", `its when ${outcome.failure}`);
          if (!outcome.holds) {
            report.recorder?.skipped(when ?? "");
            return state;
          }
          return await within(report.signal, async (limit) => {
            const ready = prepared ?? (await prepare(limit, report));
            const work = async (): Promise<State> => await ready.run(state, { ...report, signal: limit });
            const after = await repeating(retries, limit, report, work);
            if (schema === "Strict" && after.fatal === undefined) await checkSchemas(failed, run, state, after);
            return after;
          });
        },
      };
    },
  };
}

type CompiledGuard = ReturnType<typeof compileGuard> | undefined;

function readsDesired(guard: CompiledGuard): guard is Guard {
  return guard !== undefined && !("problem" in guard) && guard.readsDesired;
}

function evaluate(guard: CompiledGuard, { observed }: Run, state: State | undefined): GuardOutcome {
  if (guard === undefined) return { holds: true };
  if ("problem" in guard) return { failure: guard.problem };
  const outcome = guard.evaluate({
    observed: () => guardState(observed),
    desired: () => guardState(state?.desired ?? {}),
  });
  if (!("failure" in outcome)) return outcome;
  return { failure: `cannot be evaluated: ${outcome.failure}; test fields that can be absent with has()` };
}

/** Repeats work whose error shows that the function received nothing, with pauses that double. */
async function repeating<T>(
  retries: number = 0,
  signal: AbortSignal | undefined,
  report: StepReport | undefined,
  work: () => Promise<T>,
): Promise<T> {
  let attempts = 0;
  const attempt = async (): Promise<T> => {
    if (attempts++ > 0) report?.recorder?.retried();
    return await work();
  };
  const isRepeatable = (error: unknown): boolean =>
    error instanceof PipelineError && error.undelivered && signal?.aborted !== true;
  return await retrying(attempt, {
    signal,
    pauseMs: (error, failures) =>
      failures > retries || !isRepeatable(error) ? undefined : pauseAfter(failures, BACKOFF),
    abortedPause: (error) => error,
  });
}

async function checkSchemas(failed: FailedStep, run: Run, before: State, after: State): Promise<void> {
  const { input, observed } = run;
  if (input.schemas === undefined) return;
  const problems = await schemaProblems({ observed, before: before.desired, after: after.desired }, input.schemas);
  if (problems.length === 0) return;
  throw invalidDesired(failed, "its desired state does not match the schemas of its kinds (schema: Strict)", problems);
}

function timedOut(failed: FailedStep, timeoutMs: number, cause: unknown): PipelineError {
  const problem = `it took longer than its timeout of ${timeoutMs / 1000} s; raise the step's timeout if it needs longer`;
  const stderr = cause instanceof PipelineError ? cause.stderr : undefined;
  return stepError(failed, "Timeout", problem, { cause, stderr, retryable: true });
}
