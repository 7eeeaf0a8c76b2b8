import { parseFieldPath } from "@xfn/composition";
import type { Trace, TraceChange, TraceField, TraceOrigin, TraceStep } from "@xfn/pipeline/trace";
import { escapeControls } from "@xfn/program/terminal-text";
import { entryTitle, fieldTitle, objectTitle, sizeText, timeText, valueText } from "../trace-words.ts";

// The texts of the page; its script only arranges them. Foreign text is escaped, because bidirectional overrides are as
// misleading on a page as on a terminal.

/** The trace for the page's script. */
export interface PageData {
  title: string;
  /** Facts about the run, in a row. */
  facts: string[];
  status: "ok" | "bad";
  steps: PageStep[];
  entries: PageEntry[];
}

export interface PageStep {
  name: string;
  kind: TraceStep["kind"];
  image: string;
  status: TraceStep["status"];
  statusText: string;
  time: string;
  /** The duration of each phase in percent of the longest step. The rest of the step is `other`. */
  bar: { phase: string; percent: number }[];
  /** Names and values of measurements. */
  measures: [name: string, value: string][];
  counts: { added: number; changed: number; removed: number };
  entries: { title: string; change: string; fields: PageChange[] }[];
  results: { severity: string; message: string }[];
  error: string;
  /** The end of what the function wrote to stderr. */
  stderr: string;
}

/** One line of a step's diff. */
export interface PageChange {
  op: TraceChange["op"];
  field: string;
  before: string;
  after: string;
  origin: string;
}

/** An entry of the desired state. */
export interface PageEntry {
  title: string;
  note: string;
  stepIndex: number;
  fields: PageField[];
}

/** A field, with the step that set it. */
export interface PageField {
  /** The full path, and its segments in `keys`. */
  field: string;
  keys: string[];
  value: string;
  stepIndex: number;
  /** The origin of the field within a step of templates: a patch, the base, or identity. Empty for a function. */
  by: string;
  /** Whether it ties the resource to its XR: such fields are the same for all resources. */
  isIdentity: boolean;
  /** Names and values of the origin: template, patch, source. */
  origin: [name: string, value: string][];
  /** The changes at this path in order, if there are several. */
  history: { stepIndex: number; text: string }[];
}

const STATUS_WORDS: Readonly<Record<TraceStep["status"], string>> = {
  Succeeded: "succeeded",
  Fatal: "fatal result",
  Failed: "failed",
  Skipped: "skipped: its when is false",
  NotRun: "did not run",
};

/** Formats a trace for the page. */
export function pageData(trace: Trace): PageData {
  const { composite, composition, steps, desired, ms } = trace;
  const longest = Math.max(...steps.map((step) => step.ms), Number.EPSILON);
  const end = steps.find(({ status }) => status === "Failed" || status === "Fatal");
  const history = historyOf(steps);
  return {
    title: escapeControls(objectTitle(composite)),
    facts: [
      ...(composition === undefined ? [] : [`composed by ${escapeControls(composition)}`]),
      `${steps.length} ${steps.length === 1 ? "step" : "steps"}`,
      timeText(ms),
      end === undefined ? "succeeded" : `ended at step "${escapeControls(end.name)}": ${STATUS_WORDS[end.status]}`,
    ],
    status: end === undefined ? "ok" : "bad",
    steps: steps.map((step) => pageStep(step, longest)),
    entries: desired.map((entry) => ({
      title: escapeControls(entryTitle(entry)),
      note: entry.state === "Deleted" ? "to be deleted" : "",
      stepIndex: entry.origin.stepIndex,
      fields: entry.fields.map((field) => pageField(field, history.get(keyOf(entry.name, field)) ?? [])),
    })),
  };
}

function pageStep(step: TraceStep, longest: number): PageStep {
  const { name, kind, status, ms, image = "", phases, added, changed, removed, error } = step;
  const hasRun = status !== "NotRun" && status !== "Skipped";
  const percent = (time: number): number => Math.min(100, (100 * time) / longest);
  const measured = (["pull", "start", "run"] as const).flatMap((phase) => {
    const took = phases[phase];
    return took === undefined ? [] : [{ phase, took }];
  });
  const other = Math.max(0, ms - measured.reduce((sum, { took }) => sum + took, 0));
  return {
    name: escapeControls(name),
    kind,
    image: escapeControls(image),
    status,
    statusText: STATUS_WORDS[status],
    time: hasRun ? timeText(ms) : "",
    bar: [...measured, { phase: "other", took: other }].map(({ phase, took }) => ({ phase, percent: percent(took) })),
    measures: hasRun
      ? [
          ["in all", timeText(ms)],
          ...measured.map(({ phase, took }): [string, string] => [phase, timeText(took)]),
          ...(kind === "templates"
            ? []
            : ([
                ["input", sizeText(step.inputBytes)],
                ["output", sizeText(step.outputBytes)],
              ] satisfies [string, string][])),
          ...(step.retries === undefined ? [] : [["retries", String(step.retries)] satisfies [string, string]]),
        ]
      : step.when === undefined
        ? []
        : [["when", escapeControls(step.when)]],
    counts: { added, changed, removed },
    entries: step.entries.map((entry) => ({
      title: escapeControls(entryTitle(entry)),
      change: entry.change,
      fields: entry.fields.map(pageChange),
    })),
    results: step.results.map(({ severity, message }) => ({ severity, message: escapeControls(message) })),
    error: error === undefined ? "" : escapeControls(`${error.code}: ${error.message}`),
    stderr: escapeControls(step.stderr ?? "").trimEnd(),
  };
}

function pageChange({ op, part, path, before, after, origin }: TraceChange): PageChange {
  return {
    op,
    field: escapeControls(fieldTitle(part, path)),
    before: op === "added" ? "" : escapeControls(valueText(before)),
    after: op === "removed" ? "" : escapeControls(valueText(after)),
    origin: origin === undefined ? "" : escapeControls([origin.from, origin.source].filter(Boolean).join(", ")),
  };
}

function pageField({ part, path, value, origin }: TraceField, history: PageField["history"]): PageField {
  const keys = keysOf(path);
  return {
    field: escapeControls(fieldTitle(part, path)),
    keys: (part === "resource" ? keys : [part, ...keys]).map((key) => escapeControls(key)),
    value: escapeControls(valueText(value)),
    stepIndex: origin.stepIndex,
    by: escapeControls(origin.from ?? ""),
    isIdentity: origin.from === "identity",
    origin: originRows(origin),
    history: history.length > 1 ? history : [],
  };
}

function originRows({ template, source, from }: TraceOrigin): [string, string][] {
  const rows: [string, string | undefined][] = [
    ["template", template],
    [from === "base" || from === "identity" ? "set by" : "patch", from],
    ["in the Composition", source],
  ];
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, escapeControls(value)]]));
}

/** The segments of a path for display. A path with unusual keys is one segment. */
function keysOf(path: string): string[] {
  try {
    return parseFieldPath(path).map((segment) => (typeof segment === "number" ? `[${segment}]` : segment));
  } catch {
    return [path];
  }
}

function historyOf(steps: readonly TraceStep[]): Map<string, PageField["history"]> {
  const history = new Map<string, PageField["history"]>();
  for (const [stepIndex, { entries }] of steps.entries()) {
    for (const { name, fields } of entries) {
      for (const field of fields) {
        const { op, hidden, before, after } = field;
        const values = op === "changed" && !hidden ? `${short(before)} → ${short(after)}` : short(after ?? before);
        const key = keyOf(name, field);
        const known = history.get(key);
        const one = { stepIndex, text: escapeControls(`${op} ${values}`) };
        if (known === undefined) history.set(key, [one]);
        else known.push(one);
      }
    }
  }
  return history;
}

/** The history abbreviates values; the field shows the whole value. */
const MAX_SHORT = 80;

function short(value: TraceChange["after"]): string {
  const text = valueText(value);
  return text.length <= MAX_SHORT ? text : `${text.slice(0, MAX_SHORT)}...`;
}

function keyOf(name: string | null, { part, path }: { part: string; path: string }): string {
  return JSON.stringify([name, part, path]);
}
