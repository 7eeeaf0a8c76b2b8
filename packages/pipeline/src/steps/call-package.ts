import type { PackageStep } from "@xfn/composition";
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
import { DEFAULT_OUTPUT_BYTES, isUndelivered } from "@xfn/runner-contract";
import { conditionMessage, conditionProblem } from "../outcome/check-condition.ts";
import { PipelineError, type PipelineErrorCode, retryAfterOf } from "../outcome/pipeline-error.ts";
import type { StepCondition } from "../outcome/step-condition.ts";
import { stepMessage } from "../outcome/step-message.ts";
import type { PackageCalls } from "../outcome/step-record.ts";
import type { StepResult } from "../outcome/step-result.ts";
import { desiredState, observedState, takeDesired } from "./border.ts";
import { checkDesired } from "./check-desired.ts";
import { memoized } from "./memoized.ts";
import { imageOf } from "./package-name.ts";
import type { PreparedStep, Run, State, StepReport } from "./step.ts";

/** The time for which Crossplane's reconciler waits for all functions together. */
const TIMEOUT_MS = 120_000;

/** Connects to the function of a step, and reads its credentials. */
export async function preparePackage(
  step: PackageStep,
  run: Run,
  signal: AbortSignal | undefined,
): Promise<PreparedStep> {
  const { functions } = run.input;
  if (functions === undefined) throw failed(step, "nothing here connects to function packages", "Unsupported");
  const [caller, credentials] = await Promise.all([
    // A connector does not get the signal. Its owner stops servers that it is still starting.
    attempt(step, signal, () => untilAborted(functions.connect(step), signal), isTransient),
    credentialsOf(step, run, signal),
  ]);
  return new PreparedPackageStep(step, run, caller, credentials);
}

class PreparedPackageStep implements PreparedStep {
  readonly #step: PackageStep;
  readonly #run: Run;
  readonly #caller: FunctionCaller;
  readonly #credentials: Credentials;

  constructor(step: PackageStep, run: Run, caller: FunctionCaller, credentials: Credentials) {
    this.#step = step;
    this.#run = run;
    this.#caller = caller;
    this.#credentials = credentials;
  }

  async run(state: State, report: StepReport): Promise<State> {
    const { name } = this.#step;
    const desired = desiredState(state.desired, state.hints, this.#run.observed);
    const request: FunctionRequest = {
      observed: facts(this.#run).observed,
      desired,
      input: this.#step.input,
      context: state.context,
      credentials: this.#credentials,
    };
    const started = performance.now();
    const { response, rounded, ...run } = await this.#call(request, report.signal).finally(() =>
      report.recorder?.phase("run", performance.now() - started),
    );
    report.recorder?.given(run.requestBytes);
    report.recorder?.returned(run.responseBytes);
    report.recorder?.called(callsOf(response, run.calls));
    this.#reportRounded(rounded, report);
    const results = response.results.map((result): StepResult => ({ ...result, step: name }));
    const fatal = results.find(({ severity }) => severity === "Fatal");
    // As in Crossplane, results after a fatal one are not reported.
    for (const result of fatal === undefined ? results : results.slice(0, results.indexOf(fatal) + 1))
      report.say(result, false);
    const conditions = [...state.conditions, ...this.#conditions(response.conditions, report)];
    if (fatal !== undefined) return { ...state, conditions, fatal };
    const taken = takeDesired(response, state.desired, state.hints, desired);
    this.#reportDropped(response.desired, desired, report);
    checkDesired(
      { name, image: imageOf(this.#step), called: called(this.#step) },
      taken.desired,
      this.#run.observed,
      [],
    );
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

  async #call(request: FunctionRequest, signal: AbortSignal | undefined): Promise<SatisfiedRun> {
    const { runner, required = NOTHING_REQUIRED, responses } = this.#run.input;
    // A stored response could outlive a change of its credentials.
    const isStorable = this.#credentials.size === 0;
    const options: FunctionRunOptions = {
      timeoutMs: this.#step.timeoutMs ?? TIMEOUT_MS,
      maxResponseBytes: runner.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES,
      signal,
      ...(isStorable && responses && { responses: responses.of(this.#responseKey()) }),
    };
    let calls = 0;
    const caller: FunctionCaller = {
      run: (...call) => {
        calls++;
        return this.#caller.run(...call);
      },
    };
    return await attempt(
      this.#step,
      signal,
      () => runWithRequirements(caller, request, required, options, bootstrapOf(this.#step)),
      // After its first call, the function has started to compose.
      (cause) => calls <= 1 && isUndelivered(cause),
    );
  }

  /** A Function keeps its name when its package changes, and the responses of the old one must not be used then. */
  #responseKey(): string {
    return JSON.stringify([this.#step.functionRef, this.#caller.version ?? ""]);
  }

  #conditions(conditions: readonly FunctionCondition[], report: StepReport): StepCondition[] {
    const { name } = this.#step;
    return conditions.flatMap((condition): StepCondition[] => {
      const problem = SYSTEM_CONDITIONS.has(condition.type) ? "the controller sets it" : conditionProblem(condition);
      if (problem === undefined) return [{ ...condition, ...cleanMessage(condition), step: name }];
      const title = conditionMessage(JSON.stringify(condition.type.slice(0, MAX_TITLE)));
      const message = `step "${name}" set the condition ${title}, which has no effect: ${problem}`;
      report.say({ severity: "Warning", message, step: name }, true);
      return [];
    });
  }

  #reportRounded(rounded: readonly string[], report: StepReport): void {
    const known = facts(this.#run).rounded;
    const fields = [...new Set(rounded)].filter((field) => !known.has(field));
    if (fields.length === 0) return;
    for (const field of fields) known.add(field);
    const message =
      `step "${this.#step.name}" receives integers beyond 2^53 rounded, because function packages exchange numbers as ` +
      `doubles: ${someOf(fields, MAX_NAMED)}`;
    report.say({ severity: "Warning", message, step: this.#step.name }, true);
  }

  #reportDropped(returned: FunctionState, given: FunctionState, report: StepReport): void {
    const isEmpty = returned.resources.size === 0 && returned.composite === undefined;
    if (!isEmpty || (given.resources.size === 0 && given.composite === undefined)) return;
    const message =
      `step "${this.#step.name}" returned no desired state, which drops what earlier steps desire: a function must ` +
      "return the desired state that it receives, with its changes";
    report.say({ severity: "Warning", message, step: this.#step.name }, true);
  }
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

async function credentialsOf(step: PackageStep, run: Run, signal: AbortSignal | undefined): Promise<Credentials> {
  const found = await Promise.all(
    step.credentials.map(async ({ name, secretRef }): Promise<[string, ReadonlyMap<string, Uint8Array>]> => {
      const data = await attempt(step, signal, async () => await run.input.credentials?.(secretRef), isTransient);
      if (data !== undefined) return [name, data];
      const secret = `${secretRef.namespace}/${secretRef.name}`;
      throw failed(step, `there is no Secret ${secret}, which its credentials ${JSON.stringify(name)} name`);
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
    if (signal?.aborted) throw failed(step, "the run was ended by its caller", "Aborted", cause);
    throw failed(step, messageOf(cause), "RunFailed", cause, isUnsent(cause));
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error && cause.message !== "" ? cause.message : "it could not be called";
}

/** Failures after which the same call can succeed. */
const TRANSIENT: ReadonlySet<unknown> = new Set(["ConnectionLost", "DeadlineExceeded"]);

function failed(
  step: PackageStep,
  problem: string,
  code: PipelineErrorCode = "RunFailed",
  cause?: unknown,
  undelivered = false,
): PipelineError {
  const failure = propertiesOf(cause);
  return new PipelineError(code, stepMessage(step.name, called(step), problem), {
    step: step.name,
    image: imageOf(step),
    cause,
    stderr: typeof failure.stderr === "string" ? failure.stderr : undefined,
    retryable: code === "Aborted" || isTransient(cause),
    undelivered,
    retryAfterMs: retryAfterOf(cause),
  });
}

/** Whether the same attempt can succeed later. Before the function is called, such an attempt is safe to retry. */
function isTransient(cause: unknown): boolean {
  const { code, retryable } = propertiesOf(cause);
  return retryable === true || TRANSIENT.has(code);
}

function propertiesOf(cause: unknown): { code?: unknown; retryable?: unknown; stderr?: unknown } {
  return typeof cause === "object" && cause !== null ? cause : {};
}

function called(step: PackageStep): string {
  return `function ${imageOf(step)}`;
}
