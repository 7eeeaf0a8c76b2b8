import type { Trace, TraceChange, TraceEntryChange, TraceStep } from "@xfn/pipeline/trace";
import { escapeControls, oneLine } from "@xfn/program/terminal-text";
import type { colours } from "../terminal/colours.ts";
import { functionStderr } from "../terminal/function-stderr.ts";
import {
  count,
  entryTitle,
  fieldTitle,
  objectTitle,
  originText,
  sizeText,
  timeText,
  valueText,
} from "./trace-words.ts";

/** Functions that colour text, or return it unchanged. */
export type Paint = ReturnType<typeof colours>;

/** A step may change thousands of fields; JSON has them all. */
const MAX_FIELDS = 40;
const MAX_RESULTS = 20;
const MAX_VALUE = 100;
const MAX_NAME = 300;

const SIGNS = { added: "+", changed: "~", removed: "-", deleted: "x" } as const;

/** Formats a trace for a person, without a line feed at the end. All text is escaped for a terminal. */
export function printTrace(trace: Trace, paint: Paint): string {
  const { composite, composition, steps, ms } = trace;
  const by = composition === undefined ? "" : `, composed by ${composition}`;
  const title = `Trace of ${objectTitle(composite)}${by}: ${count(steps.length, "step")} in ${timeText(ms)}`;
  return [paint.bold(oneLine(title, MAX_NAME)), ...steps.flatMap((step, index) => printStep(step, index, paint))].join(
    "\n",
  );
}

function printStep(step: TraceStep, index: number, paint: Paint): string[] {
  const image = step.image === undefined ? "" : ` ${paint.dim(oneLine(step.image, MAX_NAME))}`;
  const head = `${index + 1}. ${paint.bold(oneLine(step.name, MAX_NAME))}${image}: `;
  if (step.status === "NotRun") return ["", `${head}${paint.dim("did not run")}`];
  if (step.status === "Skipped") return ["", `${head}skipped: its when is false`, ...guard(step, paint)];
  const lines = ["", head + measures(step) + statusText(step, paint)];
  if (step.calls !== undefined) lines.push(`   ${paint.dim(callsText(step.calls))}`);
  lines.push(...printEntries(step, paint));
  if (step.entries.length === 0 && step.error === undefined) lines.push(`   ${paint.dim("changes nothing")}`);
  for (const { severity, message } of step.results.slice(0, MAX_RESULTS)) {
    const colour = severity === "Fatal" ? paint.red : severity === "Warning" ? paint.yellow : paint.dim;
    lines.push(`   ${colour(`${severity.toLowerCase()}:`)} ${oneLine(message)}`);
  }
  const more = step.results.length - MAX_RESULTS;
  if (more > 0) lines.push(paint.dim(`   ... and ${count(more, "more result")}`));
  for (const line of functionStderr(step.stderr ?? "")) lines.push(`   ${paint.dim(line)}`);
  if (step.error !== undefined) {
    const message = escapeControls(step.error.message).replaceAll("\n", "\n   ");
    lines.push(`   ${paint.red(`${step.error.code}:`)} ${message}`);
  }
  return lines;
}

function guard({ when = "" }: TraceStep, paint: Paint): string[] {
  return [`   ${paint.dim(`when ${oneLine(when, MAX_NAME)}`)}`];
}

function measures({ kind, ms, phases, inputBytes, outputBytes, retries }: TraceStep): string {
  const parts = (["pull", "start", "run"] as const).flatMap((phase) => {
    const took = phases[phase];
    return took === undefined ? [] : `${phase} ${timeText(took)}`;
  });
  const time = parts.length === 0 ? timeText(ms) : `${timeText(ms)} (${parts.join(", ")})`;
  if (kind === "templates") return time;
  const tries = retries === undefined ? "" : `, tried ${retries + 1} times`;
  return `${time}, ${sizeText(inputBytes)} in, ${sizeText(outputBytes)} out${tries}`;
}

function callsText({ count: calls, requirements, contextKeys = [], ttlMs }: NonNullable<TraceStep["calls"]>): string {
  const parts = [count(calls, "call")];
  if (requirements.length > 0) parts.push(`requires ${requirements.join(", ")}`);
  if (contextKeys.length > 0) parts.push(`context ${contextKeys.join(", ")}`);
  if (ttlMs !== undefined) parts.push(`ttl ${timeText(ttlMs)}`);
  return oneLine(parts.join("; "), MAX_NAME);
}

function statusText({ status }: TraceStep, paint: Paint): string {
  if (status === "Fatal") return `, ${paint.red("fatal: the run ended here")}`;
  return status === "Failed" ? `, ${paint.red("failed: the run ended here")}` : "";
}

function printEntries({ entries, added, changed, removed }: TraceStep, paint: Paint): string[] {
  const lines: string[] = [];
  let left = MAX_FIELDS;
  let isCut = false;
  for (const entry of entries) {
    // The fields of a removed entry are rarely useful; JSON has them.
    const isGone = entry.change === "removed" || entry.change === "deleted";
    // Every resource has the same names, labels and owners, which would fill the screen.
    const shown = entry.fields.filter(({ origin }) => origin?.from !== "identity");
    const fields = isGone ? [] : shown.slice(0, Math.max(0, left));
    isCut ||= left <= 0 || (!isGone && fields.length < shown.length);
    if (left <= 0) break;
    lines.push(`   ${sign(entry.change, paint)} ${oneLine(entryTitle(entry), MAX_NAME)}${entryNote(entry)}`);
    for (const field of fields) lines.push(`     ${printField(field, paint)}`);
    const identity = entry.fields.length - shown.length;
    if (identity > 0) lines.push(paint.dim(`     + ${count(identity, "field")} of its identity: names, labels, owner`));
    left -= Math.max(1, fields.length);
  }
  if (isCut) {
    const counts = `${added} added, ${changed} changed, ${removed} removed`;
    const where = entries.length === 1 ? "1 entry" : `${entries.length} entries`;
    lines.push(paint.dim(`     ... fields in all, in ${where}: ${counts} (--trace=json shows every one)`));
  }
  return lines;
}

function entryNote({ change, fields }: TraceEntryChange): string {
  if (change === "added") return `: added, ${count(fields.length, "field")}`;
  if (change === "removed") return ": no longer desired; the existing object is not changed";
  return change === "deleted" ? ": to be deleted" : "";
}

function printField(field: TraceChange, paint: Paint): string {
  const { op, part, path, hidden, before, after, origin } = field;
  const name = oneLine(fieldTitle(part, path), MAX_NAME);
  const text = (value: TraceChange["after"]): string => oneLine(valueText(value), MAX_VALUE);
  const value =
    op === "changed" && hidden === undefined
      ? `${text(before)} -> ${text(after)}`
      : text(op === "removed" ? before : after);
  const source = origin === undefined ? "" : paint.dim(`  <- ${oneLine(originText(origin), MAX_NAME)}`);
  return `${sign(op, paint)} ${name}: ${value}${source}`;
}

function sign(change: keyof typeof SIGNS, paint: Paint): string {
  const colour = { added: paint.green, changed: paint.yellow, removed: paint.red, deleted: paint.red }[change];
  return colour(SIGNS[change]);
}
