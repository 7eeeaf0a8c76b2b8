import { type CompositionFunction, type FunctionForm, traitsOf } from "@xfn/composition";
import { API_VERSION, accumulate, type Desired, type FunctionIO, KIND, type Result, severityOf } from "@xfn/functionio";
import { firstDifference } from "@xfn/json";
import type { StepResult } from "../outcome/step-result.ts";
import { readOutput } from "../output/read-output.ts";
import { checkDesired, compositeProblems } from "./check-desired.ts";
import { CompositeState } from "./composite-state.ts";
import { type CompositeView, plainView } from "./composite-view.ts";
import type { FunctionCall } from "./function-call.ts";
import { memoized } from "./memoized.ts";
import type { PipelineInput } from "./pipeline-input.ts";
import { resourceListExchange } from "./resource-list-exchange.ts";
import { type Exchange, type OutputReader, runStep } from "./run-step.ts";
import type { PlannedStep, Run, State, StepReport } from "./step.ts";
import { type StepState, stepInputs } from "./step-input.ts";

/** How FunctionIO steps take part in a Composition. */
export interface Sharing {
  /** The XR in desired state for the next function. */
  view(run: Run, state: State): CompositeView;
  /** Desired state after a step, given the desired state that its function returned. */
  take(returned: Desired | undefined, before: Desired): Desired;
}

/** `functions[]`: desired state is an overlay on observed state. Functions get all of the XR. */
export const OVERLAY: Sharing = {
  view(run, state) {
    let view = VIEWS.get(run);
    if (view === undefined) VIEWS.set(run, (view = compositeState(run, state)));
    return view;
  },
  take: (returned = {}) => returned,
};

/** One view for all functions of a run: it knows what each function changed. */
const VIEWS: WeakMap<Run, CompositeState> = new WeakMap();

function compositeState({ input, composite }: Run, { desired, templates }: State): CompositeState {
  return new CompositeState({
    composite,
    connectionDetails: input.connectionDetails ?? [],
    patched: templates.composite,
    desired: desired.composite?.resource,
    applied: input.applied,
  });
}

/**
 * `mode: Pipeline`: desired state is complete, and function packages share it. An entry that a FunctionIO step leaves
 * out stays desired: only `resource: null` drops it.
 */
export const COMPLETE: Sharing = {
  view: (_, { desired }) => plainView(desired.composite),
  take(returned = {}, before) {
    const { resources = [] } = returned;
    const names = new Set(resources.map(({ name }) => name));
    const kept = (before.resources ?? []).filter(({ name }) => !names.has(name));
    return kept.length === 0 ? returned : { ...returned, resources: [...resources, ...kept] };
  },
};

/** A step that gives its function a FunctionIO, with the call of its type. */
export function functionIOStep<S extends CompositionFunction>(
  step: S,
  callOf: (step: S, input: PipelineInput) => FunctionCall,
  sharing: Sharing,
): PlannedStep {
  return {
    description: { name: step.name, kind: "function", image: traitsOf(step).target },
    prepare(run) {
      const call = callOf(step, run.input);
      return { run: (state, report) => runFunction(step, call, sharing, run, state, report) };
    },
  };
}

async function runFunction(
  { config, io }: CompositionFunction,
  call: FunctionCall,
  sharing: Sharing,
  run: Run,
  state: State,
  { say, recorder, signal }: StepReport,
): Promise<State> {
  const { input, composite, observed } = run;
  const { desired, earlier, context } = state;
  const xr = sharing.view(run, state);
  const results = [...earlier];
  const isComplete = sharing === COMPLETE;
  // A package that returned no context left an empty one.
  const given = isComplete ? (context ?? {}) : undefined;
  const exchange = exchangeFor(io, run, { config, context: given, desired, composite: xr.given, results });
  const bytes = exchange.input;
  recorder?.given(bytes.length);
  const cached = call.cached?.(bytes);
  const returned = await runStep(call, bytes, {
    reader: exchange.reader,
    signal,
    cached,
    onPhase: phaseListener(input, recorder),
    onOutput: recorder && ((length) => recorder.returned(length)),
  });
  const before: FunctionIO = { apiVersion: API_VERSION, kind: KIND, observed, desired, results };
  const taken = changedBy(sharing.take(returned.desired, desired), desired, xr);
  const after = accumulate(before, { ...returned, desired: taken }, call.step);
  for (const result of after.added) say(stepResult(call.step, result), false);
  for (const { message } of after.warnings) say({ severity: "Warning", message, step: call.step }, true);
  if (after.fatal !== undefined)
    return { ...state, desired: after.desired, passedOn: [], fatal: stepResult(call.step, after.fatal) };
  const wanted = after.desired.composite?.resource;
  const problems = wanted === undefined ? [] : compositeProblems(wanted, composite);
  checkDesired(call, after.desired, observed, problems);
  cached?.keep();
  return {
    ...state,
    desired: after.desired,
    passedOn: xr.passedOn,
    earlier: after.results,
    ...(isComplete && { context: returned.context ?? context, hints: hintsAfter(state, after.desired) }),
  };
}

/** Writes the state of a run in the form that the step names. */
function exchangeFor(form: FunctionForm | undefined, run: Run, state: StepState): Exchange {
  if (form === "ResourceList" || form === "KRM") return resourceListExchange(form, run, state);
  return { input: encoderOf(run)(state), reader: FUNCTION_IO };
}

const FUNCTION_IO: OutputReader = { kind: "FunctionIO", read: readOutput };

/** Observed state is the same for all steps of a run, and encoded once. */
const encoderOf = memoized(({ observed }: Run) => stepInputs(observed));

/** Drops the hints of entries with new readiness checks, which decide from now on, and of entries to delete. */
function hintsAfter({ hints, desired }: State, after: Desired): State["hints"] {
  const before = new Map(desired.resources?.map((entry) => [entry.name, entry]));
  const ready = new Map(hints.ready);
  for (const { name, resource, readinessChecks = [] } of after.resources ?? []) {
    const isNewCheck =
      readinessChecks.length > 0 && firstDifference(readinessChecks, before.get(name)?.readinessChecks) !== undefined;
    if (resource === null || isNewCheck) ready.delete(name);
  }
  return { ...hints, ready };
}

/** Desired state as a function returned it, with only those fields of the XR that the functions changed. */
function changedBy(returned: Desired, before: Desired, xr: CompositeView): Desired {
  const { composite: given, ...rest } = returned;
  const composite = xr.take(given, before.composite);
  return composite === undefined ? rest : { ...rest, composite };
}

function phaseListener(input: PipelineInput, recorder: StepReport["recorder"]): PipelineInput["onPhase"] {
  const { onPhase } = input;
  if (recorder === undefined) return onPhase;
  return (step, phase, ms) => {
    recorder.phase(phase, ms);
    onPhase?.(step, phase, ms);
  };
}

function stepResult(step: string, result: Result): StepResult {
  const { reason } = result;
  return {
    severity: severityOf(result),
    message: result.message,
    step,
    ...(typeof reason === "string" && { reason }),
  };
}
