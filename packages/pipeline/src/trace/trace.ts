import type { Severity } from "@xfn/functionio";
import type { JsonValue } from "@xfn/json";
import type { RunPhase } from "@xfn/runner-contract";

/**
 * The version of {@link Trace}. It increases when a field is removed or changes its meaning, and not when one is added.
 */
export const TRACE_VERSION = 1;

/**
 * The steps of a run, and the origin of each desired field. Plain JSON: print it with `printJson` of
 * `@xfn/json/text`, because values can be 64-bit integers. Contains no secret value (see `buildTrace`).
 */
export interface Trace {
  version: typeof TRACE_VERSION;
  /** The composed XR. */
  composite: { apiVersion: string; kind: string; name: string; namespace?: string };
  /** The Composition's name, if it has one. */
  composition?: string;
  /** Milliseconds of all steps together. */
  ms: number;
  /** In the order of the pipeline, including steps that did not run. */
  steps: TraceStep[];
  /** Desired state after the last step that ran: the XR first, then composed resources by name. */
  desired: TraceEntry[];
}

/**
 * - `Succeeded`: the next step ran, if there is one
 * - `Fatal`: the function returned a fatal result, which ended the run
 * - `Failed`: the step could not run, or its output was invalid, which ended the run
 * - `Skipped`: the guard of the step (`when`) is false
 * - `NotRun`: the run had ended before
 */
export type TraceStatus = "Succeeded" | "Fatal" | "Failed" | "Skipped" | "NotRun";

export interface TraceStep {
  name: string;
  /** `templates` is patch-and-transform as a whole. */
  kind: "templates" | "function";
  /** The image of a function. */
  image?: string;
  status: TraceStatus;
  /** The guard of the step, for status `Skipped`. */
  when?: string;
  /** The number of attempts after the first one. Absent: one was enough. */
  retries?: number;
  /** Bytes written to the function; 0 for templates. */
  inputBytes: number;
  /** Bytes that the function returned; 0 for templates. */
  outputBytes: number;
  /** Milliseconds of the whole step. */
  ms: number;
  /** Milliseconds in each phase of the runner. A phase that did not happen is absent. */
  phases: Partial<Record<RunPhase, number>>;
  /** The number of fields that the step added, changed and removed. */
  added: number;
  changed: number;
  removed: number;
  /** The changes of each entry that the step changed: the XR first, then composed resources by name. */
  entries: TraceEntryChange[];
  results: TraceResult[];
  /** The calls of a function package. */
  calls?: TraceCalls;
  /** The end of the function's stderr, with secrets masked. Absent if it wrote nothing. */
  stderr?: string;
  /** Why the step failed, for status `Failed`. */
  error?: { code: string; message: string };
}

/** The calls of a function package in one step. */
export interface TraceCalls {
  /** More than one if the function required something. */
  count: number;
  /** The names of the function's last requirements. */
  requirements: string[];
  /** The keys of the context that the function returned. */
  contextKeys?: string[];
  /** Milliseconds for which the response may be used again. */
  ttlMs?: number;
}

/** A result of a step. */
export interface TraceResult {
  severity: Severity;
  message: string;
  reason?: string;
}

/** An entry of desired state: the XR, or a composed resource. */
export interface TraceEntryId {
  /** The name of the entry; null for the XR. */
  name: string | null;
  apiVersion?: string;
  kind?: string;
}

/** The changes of one entry in a step. */
export interface TraceEntryChange extends TraceEntryId {
  /**
   * `added`: the entry is new. `changed`: some of its fields changed. `removed`: the entry is gone, so the existing
   * resource stays as it is. `deleted`: the entry now desires the deletion of the resource.
   */
  change: "added" | "changed" | "removed" | "deleted";
  fields: TraceChange[];
}

/** The position of a field in its entry. */
export interface TraceFieldId {
  /**
   * `resource`, or another part of the entry: `connectionDetails`, `readinessChecks`, or `ready`, which a function
   * package reports.
   */
  part: string;
  /** The field path in that part, such as `spec.forProvider.region`. */
  path: string;
}

/**
 * The change of one field. Fields are leaves: texts, numbers, booleans, null, and empty lists and objects. A hidden
 * value has neither `before` nor `after`.
 */
export interface TraceChange extends TraceFieldId {
  op: "added" | "changed" | "removed";
  before?: JsonValue;
  after?: JsonValue;
  hidden?: true;
  /** The origin, for a step of templates. Functions do not report origins. */
  origin?: TraceOrigin;
}

/** The last writer of a field. */
export interface TraceOrigin {
  /** The step's name, and its index in `steps`. */
  step: string;
  stepIndex: number;
  /** The template, for a step of templates. */
  template?: string;
  /**
   * The position in the Composition, such as `spec.resources[0].patches[2]`, `spec.patchSets[1].patches[0]` or
   * `spec.resources[0].base`.
   */
  source?: string;
  /**
   * The source of the value in a template: `FromCompositeFieldPath spec.region`, `base`, or `identity`. `identity`
   * means names, labels, annotations and owners that tie a composed resource to its XR. Authors cannot change those.
   */
  from?: string;
}

/** The desired fields of one entry. */
export interface TraceEntry extends TraceEntryId {
  /** `Deleted`: the deletion of the resource is desired, and there are no fields. */
  state: "Present" | "Deleted";
  /** The origin of the entry's state. */
  origin: TraceOrigin;
  fields: TraceField[];
}

/** A desired field. */
export interface TraceField extends TraceFieldId {
  /** Absent if it is hidden. */
  value?: JsonValue;
  hidden?: true;
  origin: TraceOrigin;
}
