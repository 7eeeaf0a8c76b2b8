import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/json";
import type { FunctionIO } from "../function-io/functionio.ts";
import { copyJson, freezeJson, newObject } from "./json.ts";
import type { KnownKind } from "./kinds.ts";
import type {
  Condition,
  PipelineResponse,
  PipelineRun,
  ResourceSelector,
  SchemaSelector,
  Target,
} from "./pipeline-run.ts";
import type { DeepReadonly } from "./readonly.ts";
import { FatalResult, type Lifetime } from "./state.ts";

/** Data that the steps of one run pass on to the steps after them, by key: `example.org/zones`. */
export interface RunContext {
  keys(): string[];
  get<T = JsonValue>(key: string): DeepReadonly<T> | undefined;
  /** Replaces the value of a key. */
  set(key: string, value: unknown): void;
  delete(key: string): void;
}

/** The credentials of the step: data of Secrets, by the names in the Composition. */
export interface Credentials {
  names(): string[];
  /** The data as text; undefined if the step has no credentials of this name. */
  get(name: string): Readonly<Record<string, string>> | undefined;
  /** The data as bytes. */
  bytes(name: string): Readonly<Record<string, Uint8Array>> | undefined;
}

/**
 * Existing resources and schemas that the function needs to read. It is run again with what it requires: state the same
 * requirements in every run, and return as long as one is undefined.
 */
export interface RequiredState {
  /**
   * The resources that match, in a stable order: none if they do not exist, undefined if they were not read yet.
   * Without a selector, those that the Composition's step requires under this name.
   */
  resources<const A extends string, const K extends string>(
    name: string,
    selector: ResourceSelector<A, K>,
  ): readonly DeepReadonly<KnownKind<A, K>>[] | undefined;
  resources<T extends object = KubernetesObject>(name: string): readonly DeepReadonly<T>[] | undefined;
  /** The OpenAPI v3 schema of a kind: null if the kind has none, undefined if it was not read yet. */
  schema(name: string, selector: SchemaSelector): DeepReadonly<JsonObject> | null | undefined;
}

/** The conditions that the function sets on the XR. */
export interface Conditions {
  /** Sets a condition. A later call with the same type replaces it. */
  set(
    type: string,
    condition: {
      readonly status: Condition["status"];
      /** One word in CamelCase. */
      readonly reason: string;
      readonly message?: string | undefined;
      /** Default: `Composite`. */
      readonly target?: Target | undefined;
    },
  ): void;
}

/** The part of a call's state that a pipeline has and a lone FunctionIO does not. */
export interface PipelineState {
  readonly context: RunContext;
  readonly credentials: Credentials;
  readonly required: RequiredState;
  readonly conditions: Conditions;
  /** The context as the function leaves it; undefined if the run has none. */
  changedContext(): JsonObject | undefined;
  response(): PipelineResponse;
}

/** The types of condition that only controllers set on an XR. A function cannot set them, in any kind of step. */
export const SYSTEM_CONDITIONS: ReadonlySet<string> = new Set(["Ready", "Synced", "Healthy", "UpToDate", "Responsive"]);

/** Kubernetes refuses an object with any other reason (metav1.Condition). */
const REASON = /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const STATUSES: ReadonlySet<string> = new Set(["True", "False", "Unknown"]);

/** Opens that part of a call. `run` is undefined for a call by FunctionIO. */
export function openPipelineState(io: FunctionIO, run: PipelineRun | undefined, lifetime: Lifetime): PipelineState {
  const set: Map<string, Condition> = new Map();
  const resources: Map<string, ResourceSelector> = new Map();
  const schemas: Map<string, SchemaSelector> = new Map();
  const context = new ContextCopy(io, lifetime);
  return {
    context: contextOf(context),
    credentials: credentialsOf(run),
    required: requiredOf(run, resources, schemas),
    conditions: {
      set(type, condition) {
        lifetime.check(`conditions.set("${type}")`);
        needs(run, `conditions.set("${type}")`);
        set.set(type, checked({ ...condition, type }));
      },
    },
    changedContext: () => context.value,
    response: () => ({ conditions: [...set.values()], requirements: { resources, schemas } }),
  };
}

class ContextCopy {
  value: JsonObject | undefined;
  readonly #lifetime: Lifetime;

  constructor(io: FunctionIO, lifetime: Lifetime) {
    this.value = io.context;
    this.#lifetime = lifetime;
  }

  read(what: string): JsonObject {
    if (this.value === undefined) throw missing(what, "the FunctionIO has no context");
    return this.value;
  }

  /** A copy to write to: the input stays as it was. */
  write(what: string): JsonObject {
    this.#lifetime.check(what);
    this.value = Object.assign(newObject(), this.read(what));
    return this.value;
  }
}

// Handlers may destructure these objects, so their functions must not use `this`.
function contextOf(context: ContextCopy): RunContext {
  return {
    keys: () => Object.keys(context.read("context.keys()")),
    get<T>(key: string) {
      const value = context.read(`context.get("${key}")`);
      return Object.hasOwn(value, key) ? (freezeJson(value[key]) as DeepReadonly<T>) : undefined;
    },
    set(key, value) {
      const copy = copyJson(value, `context[${key}]`);
      context.write(`context.set("${key}")`)[key] = copy;
    },
    delete(key) {
      delete context.write(`context.delete("${key}")`)[key];
    },
  };
}

function credentialsOf(run: PipelineRun | undefined): Credentials {
  const bytes = (name: string, what: string): ReadonlyMap<string, Uint8Array> | undefined =>
    needs(run, `credentials.${what}("${name}")`).credentials.get(name);
  return {
    names: () => [...needs(run, "credentials.names()").credentials.keys()],
    get(name) {
      const data = bytes(name, "get");
      if (data === undefined) return undefined;
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      return record([...data].map(([key, value]) => [key, decoder.decode(value)]));
    },
    bytes(name) {
      const data = bytes(name, "bytes");
      return data && record(data);
    },
  };
}

function requiredOf(
  run: PipelineRun | undefined,
  resources: Map<string, ResourceSelector>,
  schemas: Map<string, SchemaSelector>,
): RequiredState {
  return {
    resources<T extends object>(name: string, selector?: ResourceSelector) {
      const { resources: found } = needs(run, `required.resources("${name}")`);
      if (selector !== undefined) resources.set(name, { ...selector });
      return freezeJson(found.get(name)) as unknown as readonly DeepReadonly<T>[] | undefined;
    },
    schema(name, { apiVersion, kind }) {
      const { schemas: found } = needs(run, `required.schema("${name}")`);
      schemas.set(name, { apiVersion, kind });
      return freezeJson(found.get(name)) as DeepReadonly<JsonObject> | null | undefined;
    },
  };
}

function needs(run: PipelineRun | undefined, what: string): PipelineRun {
  if (run === undefined) throw missing(what, "a FunctionIO cannot carry it");
  return run;
}

function missing(what: string, why: string): FatalResult {
  return new FatalResult(
    `${what} needs a run over gRPC: ${why}. Name the function's package in a pipeline step with functionRef ` +
      "(mode: Pipeline), instead of its image in a container",
  );
}

function checked(condition: Condition): Condition {
  const { type, status, reason } = condition;
  const what = `conditions.set("${type}")`;
  if (type === "" || SYSTEM_CONDITIONS.has(type))
    throw new TypeError(`${what}: the conditions ${[...SYSTEM_CONDITIONS].join(", ")} are the controller's own`);
  if (!STATUSES.has(status)) throw new TypeError(`${what}: status must be True, False or Unknown, not ${status}`);
  if (!REASON.test(reason)) throw new TypeError(`${what}: reason must be one word, such as Creating`);
  return condition;
}

/** An object in which every key is data. */
function record<T>(entries: Iterable<readonly [string, T]>): Readonly<Record<string, T>> {
  const object = Object.setPrototypeOf({}, null) as Record<string, T>;
  for (const [key, value] of entries) object[key] = value;
  return Object.freeze(object);
}
