import { type Composition, ConnectionDetails, isCompatible } from "@xfn/composition";
import type { Desired, Observed, ObservedResource, Severity } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import { identifyComplete } from "../compose/complete-identity.ts";
import { type ComposedResource, compose } from "../compose/compose.ts";
import { templateExtras } from "../compose/template-extras.ts";
import { asComposite, type CompositeResource, describe, identityOf } from "../observed/observed-entries.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import { StepRecorder } from "../outcome/record-step.ts";
import type { StepCondition } from "../outcome/step-condition.ts";
import type { StepResult } from "../outcome/step-result.ts";
import type { PipelineInput } from "./pipeline-input.ts";
import { planOf } from "./plan.ts";
import { type Hints, type PlannedStep, type Run, START, type State } from "./step.ts";

/** The outcome of a run. */
export interface PipelineResult {
  /** The XR of the input. */
  composite: CompositeResource;
  /** Everything that templates and functions desire, unchanged. Must not be applied after a fatal result. */
  desired: Desired;
  /** The resources to apply, with name, labels and owner set, sorted by entry name. Empty after a fatal result. */
  composed: ComposedResource[];
  /** The names of the entries whose resources must be deleted, sorted. Empty after a fatal result. */
  deleted: string[];
  /**
   * The names of the entries that are not ready, sorted: composed resources, and templates that failed and that no
   * function repaired. The XR is ready if there are none. Empty after a fatal result.
   */
  unready: string[];
  /** The connection details that the XR publishes. Empty after a fatal result. */
  connectionDetails: ConnectionDetails;
  /** The results of all steps in order. The pipeline's warnings about a step follow the step's own results. */
  results: StepResult[];
  /** The results of functions alone, without the pipeline's own warnings. */
  functionResults: StepResult[];
  /** The conditions that functions set on the XR, in order. A later condition wins over an earlier one of its type. */
  conditions: StepCondition[];
  /** Whether the XR is ready, where a function package decides. Absent: {@link unready} decides. */
  ready?: boolean | undefined;
  /** The context after the last step of `mode: Pipeline`. */
  context?: JsonObject | undefined;
  /** Milliseconds for which the outcome may be used again: the shortest time that a function package returned. */
  ttlMs?: number | undefined;
  /** The result that ended the run. Later functions did not run, and nothing must be applied or deleted. */
  fatal?: StepResult;
  /**
   * Evaluates the same desired state against newer observed resources, for example after an apply, without running
   * functions again. Absent after a fatal result.
   */
  reevaluate?: (observed: readonly ObservedResource[]) => Evaluation;
}

/** Readiness and connection details of observed composed resources. */
export interface Evaluation {
  /** See {@link PipelineResult.unready}. */
  unready: string[];
  /** See {@link PipelineResult.connectionDetails}. */
  connectionDetails: ConnectionDetails;
  warnings: string[];
}

/**
 * Runs a Composition for one XR: its templates (patch and transform), then its functions, in order. Together they
 * accumulate one desired state (Crossplane design document "Composition Functions", Function API).
 *
 * With `mode: Pipeline`, the steps of the pipeline are complete: the run deletes resources that no step desires.
 *
 * Every function reads the same observed state. The first fatal result ends the run. Desired resources get their
 * identity at the end; see {@link ComposedResource}. Without functions the templates are complete: the run deletes
 * resources that no template names. With functions, `undesiredResources` decides. The input is not modified.
 *
 * @throws {PipelineError}
 */
export async function runPipeline(input: PipelineInput): Promise<PipelineResult> {
  const { composition } = input;
  const composite = asComposite(input.composite);
  if (!isCompatible(composition, composite)) throw mismatch(composition, composite);
  const plan = planOf(composition);
  const observed = observedState(input, composite);
  const log = new ResultLog(input.onWarning);
  const start: State = { ...START, ...(plan.isComplete && { context: input.context ?? {} }) };
  const credentials: Uint8Array[] = [];
  const run: Run = { input: notingCredentials(input, credentials), composite, observed };
  const state = await runSteps(plan.steps, run, { start, credentials }, log);
  const { conditions, context, ttlMs, fatal, passedOn, templates, hints } = state;
  const { results, functionResults } = log;
  const desired = plan.isComplete ? withStatusOnly(state.desired, composite) : state.desired;
  const outcome = { composite, desired, results, functionResults, conditions: [...conditions], context };
  if (fatal !== undefined) {
    const nothing = { composed: [], deleted: [], unready: [], connectionDetails: new ConnectionDetails() };
    return { ...outcome, fatal, ...nothing };
  }
  // The templates of a Composition with mode: Pipeline have no effect.
  const extras = plan.isComplete ? undefined : templateExtras(composition);
  const evaluate = (resources: readonly ObservedResource[]): ReturnType<typeof compose> =>
    compose({
      composite,
      desired,
      passedOn,
      observed: resources,
      ...(extras && { templates: extras }),
      failed: templates.failed,
      deleteUndesired: plan.deletesUndesired,
      ...(plan.isComplete && { identify: identifyComplete, ready: hints.ready }),
    });
  const { warnings, events, ...composed } = evaluate(observed.resources ?? []);
  for (const event of events) log.add({ severity: "Warning", ...event }, false);
  for (const message of warnings) log.add({ severity: "Warning", message }, true);
  return { ...outcome, ...composed, ready: hints.compositeReady, ttlMs, reevaluate: evaluate };
}

/** The results of a run, in order. */
class ResultLog {
  readonly results: StepResult[] = [];
  readonly functionResults: StepResult[] = [];
  readonly #onWarning: PipelineInput["onWarning"];

  constructor(onWarning: PipelineInput["onWarning"]) {
    this.#onWarning = onWarning;
  }

  /** @param own whether the pipeline reports it, not a function */
  add(result: StepResult, own: boolean): void {
    this.results.push(result);
    if (own) this.#onWarning?.(result);
    else this.functionResults.push(result);
  }
}

/** The input of a run. Its `credentials` adds all values that it returns to `noted`, for the records. */
function notingCredentials(input: PipelineInput, noted: Uint8Array[]): PipelineInput {
  const { credentials, onRecord } = input;
  if (credentials === undefined || onRecord === undefined) return input;
  return {
    ...input,
    credentials: async (secret) => {
      const data = await credentials(secret);
      noted.push(...(data?.values() ?? []));
      return data;
    },
  };
}

async function runSteps(
  steps: readonly PlannedStep[],
  run: Run,
  { start, credentials }: { readonly start: State; readonly credentials: readonly Uint8Array[] },
  log: ResultLog,
): Promise<State> {
  const { inStep = (_, work) => work(), onRecord, onStep, signal } = run.input;
  const prepared = await Promise.all(steps.map(async (step) => await step.prepare(run, signal)));
  let state = start;
  for (const [index, one] of prepared.entries()) {
    const description = steps[index]?.description;
    if (description === undefined) break;
    onStep?.(description, index);
    const recorder = onRecord && new StepRecorder(onRecord, { ...description, before: state.desired, credentials });
    const results: StepResult[] = [];
    const say = (result: StepResult, own: boolean): void => {
      results.push(result);
      log.add(result, own);
    };
    try {
      await inStep(description, async () => {
        state = await one.run(state, { say, signal, recorder });
        return severityOf(results);
      });
      recorder?.done(state.desired, results, readinessOf(state.hints));
    } catch (error) {
      recorder?.failed(error, results);
      throw error;
    }
    if (state.fatal !== undefined) break;
  }
  return state;
}

function severityOf(results: readonly StepResult[]): Severity {
  const found = new Set(results.map(({ severity }) => severity));
  return found.has("Fatal") ? "Fatal" : found.has("Warning") ? "Warning" : "Normal";
}

/** The readiness that function packages have reported, by entry name; null is the XR. */
function readinessOf({ ready, compositeReady }: Hints): Map<string | null, boolean> {
  const reported = [...ready, [null, compositeReady] as const];
  return new Map(reported.flatMap(([name, isReady]) => (isReady === undefined ? [] : [[name, isReady]])));
}

/** Drops the fields of the XR that `mode: Pipeline` cannot set: all but its identity, status and connection details. */
function withStatusOnly({ composite: wanted, ...rest }: Desired, composite: CompositeResource): Desired {
  if (wanted === undefined) return rest;
  const status = wanted.resource?.["status"];
  const resource = { ...identityOf(composite), ...(status !== undefined && { status }) };
  return { ...rest, composite: { ...wanted, resource } };
}

function observedState(input: PipelineInput, composite: CompositeResource): Observed {
  const { connectionDetails, observed } = input;
  return {
    composite: { resource: composite, ...(connectionDetails?.length && { connectionDetails: [...connectionDetails] }) },
    resources: [...(observed ?? [])],
  };
}

function titleOf({ metadata }: Composition): string {
  return metadata.name === undefined ? "the Composition" : `the Composition ${metadata.name}`;
}

// Users render claims by mistake: claims differ from their composite resources only in kind and namespace.
function claimHint({ metadata, kind }: CompositeResource): string {
  return metadata.namespace === undefined
    ? ""
    : `. If ${String(kind)} is a claim, render its composite resource: the same spec, that kind, no namespace`;
}

function mismatch(composition: Composition, composite: CompositeResource): PipelineError {
  const { apiVersion, kind } = composition.spec.compositeTypeRef;
  return new PipelineError(
    "CompositionMismatch",
    `${titleOf(composition)} composes ${kind} of ${apiVersion} (spec.compositeTypeRef), but the composite resource is ${describe(composite)} ` +
      `of ${composite.apiVersion}; both must be the same${claimHint(composite)}`,
  );
}
