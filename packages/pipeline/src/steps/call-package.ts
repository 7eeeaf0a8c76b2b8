import type { PackageStep } from "@xfn/composition";
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
import { type Result, SYSTEM_CONDITIONS, someOf } from "@xfn/functionio";
import { DEFAULT_OUTPUT_BYTES, untilAborted } from "@xfn/runner-contract";
import { PipelineError, type PipelineErrorCode } from "../outcome/pipeline-error.ts";
import type { StepCondition } from "../outcome/step-condition.ts";
import type { PackageCalls } from "../outcome/step-record.ts";
import type { StepResult } from "../outcome/step-result.ts";
import { desiredState, observedState, takeDesired } from "./border.ts";
import { checkDesired } from "./check-desired.ts";
import { memoized } from "./memoized.ts";
import { imageOf } from "./package-name.ts";
import type { PreparedStep, Run, State, StepReport } from "./step.ts";

/** As long as Crossplane's reconciler waits for all functions together. */
const TIMEOUT_MS = 120_000;

/** Connects to the function of a step, and reads its credentials. */
export async function preparePackage(step: PackageStep, run: Run): Promise<PreparedStep> {
  const { functions } = run.input;
  if (functions === undefined) throw failed(step, "nothing here connects to function packages", "Unsupported");
  const [caller, credentials] = await Promise.all([
    // A connector does not know the signal of the run. Its owner ends what it still starts.
    attempt(step, run, () => untilAborted(functions.connect(step), run.input.signal)),
    credentialsOf(step, run),
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
    const { response, rounded, ...run } = await this.#call(request);
    report.recorder?.given(run.requestBytes);
    report.recorder?.returned(run.responseBytes);
    report.recorder?.called(callsOf(response, run.calls));
    this.#reportRounded(rounded, report);
    const results = response.results.map((result): StepResult => ({ ...result, step: name }));
    const fatal = results.find(({ severity }) => severity === "Fatal");
    // What a function says after a fatal result is not reported, as in Crossplane.
    for (const result of fatal === undefined ? results : results.slice(0, results.indexOf(fatal) + 1))
      report.say(result, false);
    const conditions = [...state.conditions, ...this.#conditions(response.conditions, report)];
    if (fatal !== undefined) return { ...state, conditions, fatal };
    const taken = takeDesired(response, state.desired, state.hints, desired);
    this.#reportDropped(response.desired, desired, report);
    checkDesired({ name, image: imageOf(this.#step), title: title(this.#step) }, taken.desired, this.#run.observed, []);
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

  async #call(request: FunctionRequest): Promise<SatisfiedRun> {
    const { runner, signal, required = NOTHING_REQUIRED, responses } = this.#run.input;
    // A stored response could outlive a change of its credentials.
    const isStorable = this.#credentials.size === 0;
    const options: FunctionRunOptions = {
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: runner.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES,
      signal,
      ...(isStorable && responses && { responses: responses.of(this.#responseKey()) }),
    };
    return await attempt(this.#step, this.#run, () =>
      runWithRequirements(this.#caller, request, required, options, bootstrapOf(this.#step)),
    );
  }

  /** A Function keeps its name when its package changes, and the responses of the old one must not be used then. */
  #responseKey(): string {
    return JSON.stringify([this.#step.functionRef, this.#caller.version ?? ""]);
  }

  #conditions(conditions: readonly FunctionCondition[], report: StepReport): StepCondition[] {
    const { name } = this.#step;
    return conditions.flatMap((condition): StepCondition[] => {
      if (!SYSTEM_CONDITIONS.has(condition.type)) return [{ ...condition, step: name }];
      const message = `step "${name}" set the condition ${condition.type}, which the controller sets; it has no effect`;
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

/** What all package steps of a run share. */
interface RunFacts {
  readonly observed: FunctionState;
  /** Fields that were reported as rounded. */
  readonly rounded: Set<string>;
}

const facts = memoized(({ observed }: Run): RunFacts => ({ observed: observedState(observed), rounded: new Set() }));

type Credentials = ReadonlyMap<string, ReadonlyMap<string, Uint8Array>>;

async function credentialsOf(step: PackageStep, run: Run): Promise<Credentials> {
  const found = await Promise.all(
    step.credentials.map(async ({ name, secretRef }): Promise<[string, ReadonlyMap<string, Uint8Array>]> => {
      const data = await attempt(step, run, async () => await run.input.credentials?.(secretRef));
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

async function attempt<T>(step: PackageStep, run: Run, call: () => Promise<T>): Promise<T> {
  const { signal } = run.input;
  try {
    signal?.throwIfAborted();
    return await call();
  } catch (cause) {
    if (cause instanceof PipelineError) throw cause;
    if (signal?.aborted) throw failed(step, "the run was ended by its caller", "Aborted", cause);
    throw failed(step, messageOf(cause), "RunFailed", cause);
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
): PipelineError {
  const failure: { code?: unknown; retryable?: unknown; stderr?: unknown } =
    typeof cause === "object" && cause !== null ? cause : {};
  return new PipelineError(code, `${title(step)}: ${problem}`, {
    step: step.name,
    image: imageOf(step),
    cause,
    stderr: typeof failure.stderr === "string" ? failure.stderr : undefined,
    retryable: code === "Aborted" || failure.retryable === true || TRANSIENT.has(failure.code),
  });
}

function title(step: PackageStep): string {
  return `step "${step.name}" (function ${imageOf(step)})`;
}
