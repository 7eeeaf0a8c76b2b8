import type { JsonValue, Severity } from "@xfn/functionio";
import type { RunPhase } from "@xfn/runner-contract";

/** The version of {@link Trace}'s shape. It is raised when a field goes or changes its meaning, not when one is added. */
export const TRACE_VERSION = 1;

/**
 * What a run did, step by step, and who set each field of what it desires. Plain JSON: print it with `printJson` of
 * `@xfn/functionio/document`, since values may be 64-bit integers. Holds no secret value (see `buildTrace`).
 */
export interface Trace {
  version: typeof TRACE_VERSION;
  /** The XR that was composed. */
  composite: { apiVersion: string; kind: string; name: string; namespace?: string };
  /** The Composition's name, where it has one. */
  composition?: string;
  /** Milliseconds of all steps together. */
  ms: number;
  /** In the order of the pipeline, those that did not run included. */
  steps: TraceStep[];
  /** Desired state after the last step that ran: the XR first, then composed resources by name. */
  desired: TraceEntry[];
}

/**
 * - `Succeeded`: the next step ran, if there is one
 * - `Fatal`: the function returned a fatal result, which ended the run
 * - `Failed`: the step could not be run, or what it returned cannot be used, which ended the run
 * - `NotRun`: the run had ended before
 */
export type TraceStatus = "Succeeded" | "Fatal" | "Failed" | "NotRun";

/** One step. */
export interface TraceStep {
  name: string;
  /** `templates` is patch-and-transform as a whole. */
  kind: "templates" | "function";
  /** The image, for a function. */
  image?: string;
  status: TraceStatus;
  /** Bytes that the function was given; 0 for templates. */
  inputBytes: number;
  /** Bytes that the function returned; 0 for templates. */
  outputBytes: number;
  /** Milliseconds of the whole step. */
  ms: number;
  /** Milliseconds of it that were spent in the runner, by phase. A phase that did not happen is absent. */
  phases: Partial<Record<RunPhase, number>>;
  /** How many fields the step added, changed and removed. */
  added: number;
  changed: number;
  removed: number;
  /** What it did to each entry that it did something to: the XR first, then composed resources by name. */
  entries: TraceEntryChange[];
  results: TraceResult[];
  /** Why the step failed, for status `Failed`. */
  error?: { code: string; message: string };
}

/** Something that a step had to say. */
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

/** What a step did to one entry. */
export interface TraceEntryChange extends TraceEntryId {
  /**
   * `added`: the entry is new. `changed`: some of its fields are. `removed`: the entry is gone, so that what exists is left
   * alone. `deleted`: the entry now says that the resource is to be deleted.
   */
  change: "added" | "changed" | "removed" | "deleted";
  fields: TraceChange[];
}

/** Where a field is in its entry. */
export interface TraceFieldId {
  /** `resource`, or what else of the entry the field is in: `connectionDetails`, `readinessChecks`. */
  part: string;
  /** The field path in that part, such as `spec.forProvider.region`. */
  path: string;
}

/**
 * What became of one field. Fields are leaves: texts, numbers, booleans, null, and lists and objects that are empty. Where
 * the value is hidden there is neither `before` nor `after`.
 */
export interface TraceChange extends TraceFieldId {
  op: "added" | "changed" | "removed";
  before?: JsonValue;
  after?: JsonValue;
  hidden?: true;
  /** Who set it, for a step of templates; a function does not tell. */
  origin?: TraceOrigin;
}

/** Who set a field last. */
export interface TraceOrigin {
  /** The step's name, and its index in `steps`. */
  step: string;
  stepIndex: number;
  /** The template, for a step of templates. */
  template?: string;
  /** The place in the Composition: `spec.resources[0].patches[2]`, `spec.patchSets[1].patches[0]`, `spec.resources[0].base`. */
  source?: string;
  /**
   * Where a template has the value from: `FromCompositeFieldPath spec.region`; `base`; or `identity` for names, labels,
   * annotations and owners that tie a composed resource to its XR, and which no author can change.
   */
  from?: string;
}

/** What is desired of one entry, field by field. */
export interface TraceEntry extends TraceEntryId {
  /** `Deleted`: the resource is to be deleted, and has no fields. */
  state: "Present" | "Deleted";
  /** Who brought the entry into this state. */
  origin: TraceOrigin;
  fields: TraceField[];
}

/** A field of what is desired. */
export interface TraceField extends TraceFieldId {
  /** Absent where it is hidden. */
  value?: JsonValue;
  hidden?: true;
  origin: TraceOrigin;
}
