import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/json";
import type { FunctionIO, Result } from "../function-io/functionio.ts";
import { freezeJson } from "./json.ts";
import type { ResourceInput } from "./kinds.ts";
import type { PipelineRun } from "./pipeline-run.ts";
import {
  type Conditions,
  type Credentials,
  openPipelineState,
  type RequiredState,
  type RunContext,
} from "./pipeline-state.ts";
import type { DeepReadonly } from "./readonly.ts";
import type { SchemaIssue, StandardSchema } from "./standard-schema.ts";
import {
  type DesiredState,
  FatalResult,
  fatal,
  Lifetime,
  type ObservedState,
  openState,
  type Results,
} from "./state.ts";

/** The argument of a handler. */
export interface Context<Composite extends object = KubernetesObject, Config = JsonObject | undefined> {
  /** The observed XR; frozen. */
  readonly xr: DeepReadonly<Composite>;
  /** The function's configuration from the Composition, as returned by its schema. */
  readonly config: Config;
  readonly observed: ObservedState;
  readonly desired: DesiredState<Composite>;
  readonly results: Results;
  /** Data of the steps of this run. Only a run over gRPC, or a FunctionIO with a context, has it. */
  readonly context: RunContext;
  /** Only a run over gRPC has them. */
  readonly credentials: Credentials;
  /** Existing resources and schemas that the function reads. Only a run over gRPC has them. */
  readonly required: RequiredState;
  /** Conditions of the XR. Only a run over gRPC can set them. */
  readonly conditions: Conditions;
}

/** A handler: it describes the desired objects through `desired`, and returns nothing. */
export type Handler<Composite extends object, Config> = (context: Context<Composite, Config>) => void | Promise<void>;

/**
 * A composition function: FunctionIO in, FunctionIO out. It is synchronous if its handler is. Made by {@link compose}.
 */
export interface ComposeFunction<Composite extends object = KubernetesObject, Config = unknown> {
  (io: FunctionIO, run?: PipelineRun): FunctionIO | Promise<FunctionIO>;
  /** Carries the types to `invoke`; does not exist at run time. */
  readonly "~types"?: { composite: Composite; config: Config };
}

/** The types and checks of the XR and the config: a schema (zod, valibot, ...), or `type<T>()` without checks. */
export interface ComposeOptions<Composite extends object, ConfigInput, Config> {
  readonly composite?: StandardSchema<unknown, Composite>;
  readonly config?: StandardSchema<ConfigInput, Config>;
}

/**
 * Returns a resource as it is. A literal is checked here as `desired.apply` would check it, so that a helper can build
 * resources.
 */
export function resource<const A extends string, const K extends string>(
  literal: ResourceInput<A, K>,
): ResourceInput<A, K> {
  return literal;
}

/** A type instead of a schema. Only checks that there is a value. */
export function type<T>(): StandardSchema<T, T> {
  return {
    "~standard": {
      version: 1,
      vendor: "xfn",
      validate: (value) => (value === undefined ? { issues: [{ message: "is missing" }] } : { value: value as T }),
    },
  };
}

/**
 * Makes a composition function of a handler. The desired state of earlier steps is always preserved. If the handler
 * throws, the output is the input's desired state and one fatal result.
 */
export function compose<Composite extends object = KubernetesObject, Config = JsonObject | undefined>(
  handler: Handler<Composite, Config>,
): ComposeFunction<Composite, Config>;
export function compose<
  Composite extends object = KubernetesObject,
  ConfigInput = JsonObject | undefined,
  Config = ConfigInput,
>(
  options: ComposeOptions<Composite, ConfigInput, Config>,
  handler: Handler<Composite, Config>,
): ComposeFunction<Composite, ConfigInput>;
export function compose<Composite extends object, Config>(
  first: ComposeOptions<Composite, unknown, Config> | Handler<Composite, Config>,
  second?: Handler<Composite, Config>,
): ComposeFunction<Composite, Config> {
  const handler = typeof first === "function" ? first : second;
  const options = typeof first === "function" ? {} : first;
  if (handler === undefined) throw new TypeError("compose needs a handler");
  return (io, run) => call(io, run, options, handler);
}

function call<Composite extends object, Config>(
  io: FunctionIO,
  run: PipelineRun | undefined,
  options: ComposeOptions<Composite, unknown, Config>,
  handler: Handler<Composite, Config>,
): FunctionIO | Promise<FunctionIO> {
  const lifetime = new Lifetime();
  const state = openState(io, lifetime);
  const pipeline = openPipelineState(io, run, lifetime);
  const end = (
    desired: FunctionIO["desired"],
    context: JsonObject | undefined,
    added: readonly Result[],
  ): FunctionIO => {
    lifetime.end();
    run?.respond(pipeline.response());
    return respond(io, desired, context, added);
  };
  const failed = (error: unknown): FunctionIO => end(io.desired, io.context, [...state.added, fatalResult(error)]);
  const finish = (returned: unknown): FunctionIO =>
    returned === undefined
      ? end(state.desiredState(), pipeline.changedContext(), state.added)
      : failed(new TypeError("the handler returned a value; use desired.apply instead"));
  // Stacks end at this name: see withoutOurFrames.
  const handlerCalledByXfn = (xr: Composite, config: Config): void | Promise<void> => {
    const { observed, results } = state;
    const { context, credentials, required, conditions } = pipeline;
    const desired = state.desired as unknown as DesiredState<Composite>;
    const frozen = freezeJson(xr) as DeepReadonly<Composite>;
    return handler({ xr: frozen, config, observed, desired, results, context, credentials, required, conditions });
  };
  try {
    const xr = check(options.composite, "composite", io.observed.composite?.resource);
    const config = check(options.config, "config", io.config);
    if (xr instanceof Promise || config instanceof Promise) {
      return Promise.all([xr, config])
        .then(([xr, config]) => handlerCalledByXfn(xr, config))
        .then(finish)
        .catch(failed);
    }
    const returned = handlerCalledByXfn(xr, config);
    return isThenable(returned) ? Promise.resolve(returned).then(finish).catch(failed) : finish(returned);
  } catch (error) {
    return failed(error);
  }
}

function respond(
  io: FunctionIO,
  desired: FunctionIO["desired"],
  context: JsonObject | undefined,
  added: readonly Result[],
): FunctionIO {
  // Pass on the rest of the input: observed state, which functions must not modify, and unknown fields.
  const { desired: _desired, results, ...rest } = io;
  const output: FunctionIO = rest;
  if (context !== undefined) output.context = context;
  if (desired !== undefined) output.desired = desired;
  if (results !== undefined || added.length > 0) output.results = [...(results ?? []), ...added];
  return output;
}

function fatalResult(error: unknown): Result {
  if (error instanceof FatalResult) return { severity: "Fatal", message: error.message };
  // The stack on stderr is for the author, and the result for the user.
  console.error(withoutOurFrames(error));
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { severity: "Fatal", message };
}

function check<Output>(
  schema: StandardSchema<unknown, Output> | undefined,
  what: string,
  value: JsonValue | undefined,
): Output | Promise<Output> {
  if (schema === undefined) return value as Output;
  const verdict = schema["~standard"].validate(value);
  const accept = (result: Awaited<typeof verdict>): Output => {
    if (result.issues === undefined) return result.value;
    return fatal(result.issues.map((issue) => describe(issue, what, value)).join("; "));
  };
  return isThenable(verdict) ? Promise.resolve(verdict).then(accept) : accept(verdict as Awaited<typeof verdict>);
}

/** A validator's message without the invalid text, which can be a secret: results become events. */
function describe(issue: SchemaIssue, what: string, root: JsonValue | undefined): string {
  let path = what;
  let value: unknown = root;
  for (const part of issue.path ?? []) {
    const key = typeof part === "object" ? part.key : part;
    path += typeof key === "number" ? `[${key}]` : `.${String(key)}`;
    value = typeof value === "object" && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined;
  }
  const message = typeof value === "string" && value !== "" ? issue.message.replaceAll(value, "...") : issue.message;
  return `${path}: ${message}`;
}

function isThenable(value: unknown): value is PromiseLike<never> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** The frame of the SDK that calls a handler. `compose` has a function of this name. */
const CALLER = /^\s+at .*\bhandlerCalledByXfn\b/;

/** Cuts the frames of the SDK from the stack of an error and of its causes: authors cannot act on them. */
export function withoutOurFrames(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) {
    const lines = at.stack?.split("\n") ?? [];
    const end = lines.findIndex((line) => CALLER.test(line));
    // Without a frame of the handler, ours are better than none.
    if (end <= 0 || !/^\s+at /.test(lines[end - 1] ?? "")) continue;
    const value = lines.slice(0, end).join("\n");
    // A frozen error keeps its stack.
    Reflect.defineProperty(at, "stack", { value, configurable: true, writable: true, enumerable: false });
  }
  return error;
}
