import { type PackageStep, traitsOf } from "@xfn/composition";
import { someOf } from "@xfn/errors";
import {
  type FunctionCaller,
  type FunctionCondition,
  type FunctionRequest,
  type FunctionResponse,
  type FunctionRunOptions,
  type State as FunctionState,
  NO_REQUIREMENTS,
  type Requirements,
  type RequirementsSource,
  runWithRequirements,
  type SatisfiedRun,
} from "@xfn/function-grpc";
import { type Result, SYSTEM_CONDITIONS } from "@xfn/functionio";
import { untilAborted } from "@xfn/lifetime";
import { DEFAULT_OUTPUT_BYTES, type FunctionRunner, isUndelivered } from "@xfn/runner-contract";
import { conditionMessage, conditionProblem } from "../outcome/check-condition.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import type { StepCondition } from "../outcome/step-condition.ts";
import { abortedStep, callFailure, type FailedStep, stepError } from "../outcome/step-error.ts";
import type { PackageCalls } from "../outcome/step-record.ts";
import type { StepResult } from "../outcome/step-result.ts";
import { desiredState, observedState, takeDesired } from "./border.ts";
import { checkDesired } from "./check-desired.ts";
import { memoized } from "./memoized.ts";
import type { PipelineInput } from "./pipeline-input.ts";
import type { PreparedStep, Run, State, StepReport } from "./step.ts";

/** The time for which Crossplane's reconciler waits for all functions together. */
const TIMEOUT_MS = 120_000;

/** Connects to the function of a step, and reads its credentials. */
export async function preparePackage(
  step: PackageStep,
  run: Run,
  signal: AbortSignal | undefined,
): Promise<PreparedStep> {
  const connected = await connectPackage(step, run.input, signal);
  return { run: (state, report) => runPackage(step, run, connected, state, report) };
}

/** The input of a run that calls function packages. */
export interface PackageInput
  extends Pick<PipelineInput, "functions" | "required" | "credentials" | "responses" | "signal"> {
  readonly runner?: Pick<FunctionRunner, "maxOutputBytes"> | undefined;
}

/** The connection to the function of a step, and the step's credentials. */
export interface Connected {
  readonly caller: FunctionCaller;
  readonly credentials: Credentials;
}

/** @throws {PipelineError} */
export async function connectPackage(
  step: PackageStep,
  input: PackageInput,
  signal: AbortSignal | undefined,
): Promise<Connected> {
  const { functions } = input;
  if (functions === undefined)
    throw stepError(failedStep(step), "Unsupported", "nothing here connects to function packages");
  const [caller, credentials] = await Promise.all([
    // A connector does not get the signal. Its owner stops servers that it is still starting.
    attempt(step, signal, () => untilAborted(functions.connect(step), signal), isTransient),
    credentialsOf(step, input, signal),
  ]);
  return { caller, credentials };
}

async function runPackage(
  step: PackageStep,
  run: Run,
  connected: Connected,
  state: State,
  report: StepReport,
): Promise<State> {
  const { name } = step;
  const { observed } = facts(run);
  const desired = desiredState(state.desired, state.hints, run.observed);
  const { credentials } = connected;
  const request: FunctionRequest = { observed, desired, input: step.input, context: state.context, credentials };
  const started = performance.now();
  const { response, rounded, ...sizes } = await callPackage(step, run.input, connected, request, report.signal).finally(
    () => report.recorder?.phase("run", performance.now() - started),
  );
  report.recorder?.given(sizes.requestBytes);
  report.recorder?.returned(sizes.responseBytes);
  report.recorder?.called(callsOf(response, sizes.calls));
  const warn = (message: string): void => report.say({ severity: "Warning", message, step: name }, true);
  reportRounded(name, rounded, facts(run).rounded, warn);
  const { results, fatal } = resultsOf(step, response);
  for (const result of results) report.say(result, false);
  const conditions = [...state.conditions, ...stepConditions(name, response.conditions, warn)];
  if (fatal !== undefined) return { ...state, conditions, fatal };
  const taken = takeDesired(response, state.desired, state.hints, desired);
  reportDropped(name, response.desired, desired, warn);
  checkDesired(failedStep(step), taken.desired, run.observed, []);
  const { ttlMs } = response;
  return {
    ...state,
    ...taken,
    earlier: [...state.earlier, ...results.map(resultOf)],
    context: response.context,
    conditions,
    ttlMs: ttlMs === undefined ? state.ttlMs : Math.min(ttlMs, state.ttlMs ?? ttlMs),
  };
}

/** The results of a step up to the first fatal one. As in Crossplane, later ones are not reported. */
export function resultsOf(
  { name: step }: PackageStep,
  response: FunctionResponse,
): { readonly results: StepResult[]; readonly fatal: StepResult | undefined } {
  const results = response.results.map((result): StepResult => ({ ...result, step }));
  const fatal = results.find(({ severity }) => severity === "Fatal");
  return { results: fatal === undefined ? results : results.slice(0, results.indexOf(fatal) + 1), fatal };
}

/** Calls the function of a step until its requirements are stable. @throws {PipelineError} */
export async function callPackage(
  step: PackageStep,
  input: PackageInput,
  { caller, credentials }: Connected,
  request: FunctionRequest,
  signal: AbortSignal | undefined,
): Promise<SatisfiedRun> {
  const { runner, required = NOTHING_REQUIRED, responses } = input;
  // A Function keeps its name when its package changes, and the responses of the old one must not be used then.
  const responseKey = JSON.stringify([step.functionRef, caller.version ?? ""]);
  const options: FunctionRunOptions = {
    timeoutMs: step.timeoutMs ?? TIMEOUT_MS,
    maxResponseBytes: runner?.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES,
    signal,
    // A stored response could outlive a change of its credentials.
    ...(credentials.size === 0 && responses && { responses: responses.of(responseKey, traitsOf(step).target) }),
  };
  let calls = 0;
  const counted: FunctionCaller = {
    run: (...call) => {
      calls++;
      return caller.run(...call);
    },
  };
  return await attempt(
    step,
    signal,
    () => runWithRequirements(counted, request, required, options, bootstrapOf(step)),
    // After its first call, the function has started to compose.
    (cause) => calls <= 1 && isUndelivered(cause),
  );
}

function stepConditions(
  step: string,
  conditions: readonly FunctionCondition[],
  warn: (message: string) => void,
): StepCondition[] {
  return conditions.flatMap((condition): StepCondition[] => {
    const problem = SYSTEM_CONDITIONS.has(condition.type) ? "the controller sets it" : conditionProblem(condition);
    if (problem === undefined) return [{ ...condition, ...cleanMessage(condition), step }];
    const title = conditionMessage(JSON.stringify(condition.type.slice(0, MAX_TITLE)));
    warn(`step "${step}" set the condition ${title}, which has no effect: ${problem}`);
    return [];
  });
}

/** Warns of integers that a function received rounded. @param known the fields that earlier steps have reported */
export function reportRounded(
  step: string,
  rounded: readonly string[],
  known: Set<string>,
  warn: (message: string) => void,
): void {
  const fields = [...new Set(rounded)].filter((field) => !known.has(field));
  if (fields.length === 0) return;
  for (const field of fields) known.add(field);
  warn(
    `step "${step}" receives integers beyond 2^53 rounded, because function packages exchange numbers as ` +
      `doubles: ${someOf(fields, MAX_NAMED)}`,
  );
}

function reportDropped(
  step: string,
  returned: FunctionState,
  given: FunctionState,
  warn: (message: string) => void,
): void {
  const isEmpty = returned.resources.size === 0 && returned.composite === undefined;
  if (!isEmpty || (given.resources.size === 0 && given.composite === undefined)) return;
  warn(
    `step "${step}" returned no desired state, which drops what earlier steps desire: a function must ` +
      "return the desired state that it receives, with its changes",
  );
}

const MAX_NAMED = 10;

/** A message shows this many characters of a type. */
const MAX_TITLE = 100;

function cleanMessage({ message }: FunctionCondition): { message?: string } {
  return message === undefined ? {} : { message: conditionMessage(message) };
}

function callsOf({ requirements, context, ttlMs }: FunctionResponse, count: number): PackageCalls {
  const { extraResources, resources, schemas } = requirements;
  return {
    count,
    requirements: [...new Set([...extraResources.keys(), ...resources.keys(), ...schemas.keys()])].toSorted(),
    ...(context && { context }),
    ...(ttlMs !== undefined && { ttlMs }),
  };
}

const NOTHING_REQUIRED: RequirementsSource = { resources: async () => [], schema: async () => undefined };

/** State that all package steps of a run share. */
interface RunFacts {
  readonly observed: FunctionState;
  /** Fields that were reported as rounded. */
  readonly rounded: Set<string>;
}

const facts = memoized(({ observed }: Run): RunFacts => ({ observed: observedState(observed), rounded: new Set() }));

type Credentials = ReadonlyMap<string, ReadonlyMap<string, Uint8Array>>;

async function credentialsOf(
  step: PackageStep,
  input: Pick<PackageInput, "credentials">,
  signal: AbortSignal | undefined,
): Promise<Credentials> {
  const found = await Promise.all(
    step.credentials.map(async ({ name, secretRef }): Promise<[string, ReadonlyMap<string, Uint8Array>]> => {
      const data = await attempt(step, signal, async () => await input.credentials?.(secretRef), isTransient);
      if (data !== undefined) return [name, data];
      const secret = `${secretRef.namespace}/${secretRef.name}`;
      const problem = `there is no Secret ${secret}, which its credentials ${JSON.stringify(name)} name`;
      throw stepError(failedStep(step), "RunFailed", problem);
    }),
  );
  return new Map(found);
}

function bootstrapOf({ requirements }: PackageStep): Requirements {
  return {
    ...NO_REQUIREMENTS,
    resources: new Map(
      requirements.resources.map(({ requirementName, apiVersion, kind, namespace, name, matchLabels }) => [
        requirementName,
        {
          apiVersion,
          kind,
          match: name === undefined ? { labels: new Map(Object.entries(matchLabels ?? {})) } : { name },
          ...(namespace !== undefined && { namespace }),
        },
      ]),
    ),
    schemas: new Map(
      requirements.schemas.map(({ requirementName, apiVersion, kind }) => [requirementName, { apiVersion, kind }]),
    ),
  };
}

function resultOf({ severity, message, reason }: StepResult): Result {
  return { severity, message, ...(reason !== undefined && { reason }) };
}

/** @param isUnsent whether an error shows that the function received nothing, so that the step can be tried again */
async function attempt<T>(
  step: PackageStep,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
  isUnsent: (cause: unknown) => boolean,
): Promise<T> {
  try {
    signal?.throwIfAborted();
    return await call();
  } catch (cause) {
    if (cause instanceof PipelineError) throw cause;
    if (signal?.aborted) throw abortedStep(failedStep(step), cause);
    const { message = "it could not be called", ...failure } = callFailure(cause);
    throw stepError(failedStep(step), "RunFailed", message, {
      ...failure,
      cause,
      retryable: isTransient(cause),
      undelivered: isUnsent(cause),
    });
  }
}

/** Failures after which the same call can succeed. */
const TRANSIENT: readonly (string | undefined)[] = ["ConnectionLost", "DeadlineExceeded"];

/** Whether the same attempt can succeed later. Before the function is called, such an attempt is safe to retry. */
function isTransient(cause: unknown): boolean {
  const { code, retryable } = callFailure(cause);
  return retryable || TRANSIENT.includes(code);
}

function failedStep(step: PackageStep): FailedStep {
  const { target: image } = traitsOf(step);
  return { step: step.name, image, called: `function ${image}` };
}
