import { type Composition, type FieldPath, formatFieldPath } from "@xfn/composition";
import { isObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import type { PackageCalls, StepRecord } from "../outcome/step-record.ts";
import { planOf } from "../steps/plan.ts";
import { compare, type LeafChange, leafValue, type OriginTree } from "./compare.ts";
import {
  addReadiness,
  entryNames,
  type MaskedEntry,
  type MaskedState,
  maskDesired,
  maskValues,
  sortFields,
} from "./desired-state.ts";
import { maskPlaces } from "./secret-places.ts";
import { SecretValues } from "./secret-values.ts";
import { TemplateOrigins } from "./template-origins.ts";
import {
  TRACE_VERSION,
  type Trace,
  type TraceCalls,
  type TraceChange,
  type TraceEntry,
  type TraceEntryChange,
  type TraceEntryId,
  type TraceOrigin,
  type TraceStatus,
  type TraceStep,
} from "./trace.ts";
import { traceFields } from "./trace-fields.ts";

/** The input of a trace. It is not modified. */
export interface TraceInput {
  /** The records that the run passed to `onRecord`, in order. */
  records: readonly StepRecord[];
  /** The XR. */
  composite: KubernetesObject;
  composition: Composition;
  /** The observed objects of the run. They are not part of the trace, but their secrets are hidden in it. */
  observed?: readonly JsonValue[];
  /** Names of fields, connection details and keys of Secrets whose values are not secret. Default: none. */
  publicNames?: readonly string[];
}

/** The origin of each field of an entry, by part, and the origin of the entry's state. */
interface EntryOrigins {
  entry: TraceOrigin;
  parts: Map<string, OriginTree>;
}

/**
 * Makes the trace of a run that has ended, successfully or not. The time is proportional to the desired state times the
 * number of steps: the run itself only stores references.
 *
 * Secrets are hidden: values of connection details, `data` and `stringData` of Secrets, and fields and environment
 * variables with names like `password` and `token`, and credentials of steps. The same values are hidden everywhere
 * else, in fields, results and errors. Observed state and the functions' `config` are not part of a trace.
 */
export function buildTrace(input: TraceInput): Trace {
  const { records, composite, composition } = input;
  const secrets = new SecretValues(objectNames(input));
  const onHidden = (text: string, base64: boolean): void => secrets.add(text, base64);
  for (const { credentials = [] } of records) for (const value of credentials) secrets.addKnown(value);
  const masking = { onHidden, publicNames: new Set(input.publicNames) };
  for (const object of [composite, ...(input.observed ?? [])]) maskPlaces(object, masking);
  const states = records.map(({ after }) => maskDesired(after, masking));
  // A step that failed reports no readiness, and changes nothing.
  let readiness: NonNullable<StepRecord["readiness"]> = new Map();
  for (const [index, state] of states.entries()) {
    readiness = records[index]?.readiness ?? readiness;
    addReadiness(state, readiness);
  }
  // Only now all secrets are known: an early step can copy a value that a later step puts into a Secret.
  for (const state of states) maskValues(state, secrets);
  // Fields of a Struct have no order: Go writes them in a random one.
  if (records.some(({ calls }) => calls !== undefined)) for (const state of states) sortFields(state);

  const tracing = new Tracing(basesOf(composition));
  let before: MaskedState = new Map();
  const steps = records.map((record, index): TraceStep => {
    const after = states[index] ?? before;
    const entries = tracing.step(record, index, before, after);
    before = after;
    return traceStep(record, entries, secrets);
  });
  const { name } = composition.metadata;
  return {
    version: TRACE_VERSION,
    composite: identityOf(composite),
    ...(name !== undefined && { composition: name }),
    ms: records.reduce((sum, { ms }) => sum + ms, 0),
    steps: [...steps, ...notRun(records, composition)],
    desired: tracing.desired(before),
  };
}

/** The names and kinds of all objects of a run, and the names of entries. */
function objectNames({ records, composite, observed = [] }: TraceInput): ReadonlySet<string> {
  const names = new Set<string>();
  const add = (value: unknown): void => {
    if (typeof value === "string") names.add(value);
  };
  const addObject = (object: JsonValue | undefined): void => {
    if (!isObject(object)) return;
    add(object["apiVersion"]);
    add(object["kind"]);
    const { metadata } = object;
    if (isObject(metadata)) for (const field of NAME_FIELDS) add(metadata[field]);
  };
  for (const object of [composite, ...observed]) addObject(object);
  for (const { after } of records) {
    for (const { name, resource } of after.resources ?? []) {
      add(name);
      addObject(resource);
    }
  }
  return names;
}

const NAME_FIELDS = ["name", "generateName", "namespace"] as const;

class Tracing {
  readonly #origins: Map<string | null, EntryOrigins> = new Map();
  readonly #bases: ReadonlyMap<string, string>;

  constructor(bases: ReadonlyMap<string, string>) {
    this.#bases = bases;
  }

  step(record: StepRecord, stepIndex: number, before: MaskedState, after: MaskedState): TraceEntryChange[] {
    const step: TraceOrigin = { step: record.name, stepIndex };
    const templates =
      record.kind === "templates" ? new TemplateOrigins(step, record.writes ?? [], this.#bases) : undefined;
    return entryNames(before, after).flatMap((name) => {
      const originAt = (part: string, path: FieldPath): TraceOrigin =>
        templates !== undefined && part === "resource" ? templates.of(name, path) : step;
      const change = this.#entry(before.get(name), after.get(name), step, originAt);
      return change === undefined ? [] : [{ ...identifiedBy(after.get(name) ?? before.get(name)), ...change }];
    });
  }

  #entry(
    before: MaskedEntry | undefined,
    after: MaskedEntry | undefined,
    step: TraceOrigin,
    originAt: (part: string, path: FieldPath) => TraceOrigin,
  ): Pick<TraceEntryChange, "change" | "fields"> | undefined {
    const name = (after ?? before)?.name ?? null;
    const known = this.#origins.get(name);
    const change = changeOf(before, after);
    const origins: EntryOrigins = {
      entry: change === undefined && known !== undefined ? known.entry : step,
      parts: new Map(),
    };
    const fields: TraceChange[] = [];
    for (const part of new Set([...(before?.parts.keys() ?? []), ...(after?.parts.keys() ?? [])])) {
      const wasIn = before?.parts.get(part);
      const found = compare(wasIn, after?.parts.get(part), known?.parts.get(part), (path) => originAt(part, path));
      if (found.origins !== undefined) origins.parts.set(part, found.origins);
      for (const leaf of found.changes) fields.push(traceChange(part, leaf));
    }
    if (after === undefined) this.#origins.delete(name);
    else this.#origins.set(name, origins);
    if (change !== undefined) return { change, fields };
    return fields.length > 0 ? { change: "changed", fields } : undefined;
  }

  desired(state: MaskedState): TraceEntry[] {
    return entryNames(state).flatMap((name) => {
      const entry = state.get(name);
      const origins = this.#origins.get(name);
      if (entry === undefined || origins === undefined) return [];
      return {
        ...identifiedBy(entry),
        state: entry.isDeleted ? "Deleted" : "Present",
        origin: origins.entry,
        fields: traceFields(entry.parts, origins.parts, origins.entry),
      };
    });
  }
}

/** The change of the entry as a whole; undefined if it existed before and after. */
function changeOf(
  before: MaskedEntry | undefined,
  after: MaskedEntry | undefined,
): "added" | "removed" | "deleted" | undefined {
  if (after === undefined) return "removed";
  if (after.isDeleted) return before?.isDeleted ? undefined : "deleted";
  return before === undefined || before.isDeleted ? "added" : undefined;
}

function traceChange(part: string, { op, path, before, after, origin }: LeafChange): TraceChange {
  const was = before === undefined ? undefined : leafValue(before);
  const is = after === undefined ? undefined : leafValue(after);
  const isHidden = (before !== undefined && was === undefined) || (after !== undefined && is === undefined);
  return {
    op,
    part,
    path: formatFieldPath(path),
    ...(isHidden
      ? { hidden: true }
      : { ...(was !== undefined && { before: was }), ...(is !== undefined && { after: is }) }),
    // All fields of a function have the same origin, which the step names already.
    ...(origin?.from !== undefined && { origin }),
  };
}

function identifiedBy(entry: MaskedEntry | undefined): TraceEntryId {
  const { name = null, apiVersion, kind } = entry ?? {};
  return { name, ...(apiVersion !== undefined && { apiVersion }), ...(kind !== undefined && { kind }) };
}

function traceStep(record: StepRecord, entries: TraceEntryChange[], secrets: SecretValues): TraceStep {
  const { name, kind, image, skipped, retries, inputBytes, outputBytes, ms, phases, stderr, error } = record;
  const count = (op: TraceChange["op"]): number =>
    entries.reduce((sum, entry) => sum + entry.fields.filter((field) => field.op === op).length, 0);
  return {
    name,
    kind,
    ...(image !== undefined && { image }),
    status: statusOf(record),
    ...(skipped !== undefined && { when: secrets.scrub(skipped) }),
    ...(retries !== undefined && { retries }),
    inputBytes,
    outputBytes,
    ms,
    phases: { ...phases },
    added: count("added"),
    changed: count("changed"),
    removed: count("removed"),
    entries,
    results: record.results.map(({ severity, message, reason }) => ({
      severity,
      message: secrets.scrub(message),
      ...(reason !== undefined && { reason: secrets.scrub(reason) }),
    })),
    ...(record.calls && { calls: traceCalls(record.calls) }),
    ...(stderr && { stderr: secrets.scrub(stderr) }),
    ...(error && { error: { code: error.code, message: secrets.scrub(error.message) } }),
  };
}

function statusOf({ error, results, skipped }: StepRecord): TraceStatus {
  if (error !== undefined) return "Failed";
  if (skipped !== undefined) return "Skipped";
  return results.some(({ severity }) => severity === "Fatal") ? "Fatal" : "Succeeded";
}

function notRun(records: readonly StepRecord[], composition: Composition): TraceStep[] {
  const ran = records.filter(({ kind }) => kind === "function").length;
  return planOf(composition)
    .steps.filter(({ description }) => description.kind === "function")
    .slice(ran)
    .map(({ description }) => ({
      ...description,
      status: "NotRun",
      inputBytes: 0,
      outputBytes: 0,
      ms: 0,
      phases: {},
      added: 0,
      changed: 0,
      removed: 0,
      entries: [],
      results: [],
    }));
}

/** The values of a context can be secrets. */
function traceCalls({ context, ...calls }: PackageCalls): TraceCalls {
  return { ...calls, ...(context && { contextKeys: Object.keys(context).toSorted() }) };
}

function basesOf({ spec }: Composition): Map<string, string> {
  const field = spec.resourcesField ?? "resources";
  return new Map(spec.resources.map(({ name }, index) => [name, `spec.${field}[${index}].base`]));
}

function identityOf({ apiVersion, kind, metadata }: KubernetesObject): Trace["composite"] {
  return {
    apiVersion: apiVersion ?? "",
    kind: kind ?? "",
    name: metadata?.name ?? "",
    ...(metadata?.namespace && { namespace: metadata.namespace }),
  };
}
