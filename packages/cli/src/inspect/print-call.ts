import type { StepMeta } from "@xfn/function-grpc/inspector";
import { isObject, type JsonObject, type JsonValue, objectAt, objectsAt, sameJson, textAt, textsAt } from "@xfn/json";
import { printYaml } from "@xfn/json/document";
import { escapeControls, oneLine } from "@xfn/program/terminal-text";
import { lineDifference } from "../render/line-difference.ts";
import type { colours } from "../terminal/colours.ts";
import { count, entryTitle, objectTitle, timeText } from "../trace/trace-words.ts";
import { millisecondsOf, type ReceivedMessage } from "./received-message.ts";

type Paint = ReturnType<typeof colours>;

const MAX_NAME = 300;
const MAX_RESULTS = 20;
/** A function can add hundreds of resources; JSON has them all. */
const MAX_LINES = 100;
const INDENT = "   ";

/** The title of a run: its XR or Operation, its Composition and the start of its id. */
export function titleOfRun({ traceId, compositionMeta: xr, operationMeta: operation }: StepMeta, paint: Paint): string {
  const run = `run ${traceId.slice(0, 8)}`;
  if (xr === undefined) return paint.bold(oneLine(`Operation ${operation?.operationName ?? ""}, ${run}`, MAX_NAME));
  const { compositeResourceKind: kind, compositeResourceName: name, compositeResourceNamespace: namespace } = xr;
  const title = objectTitle({ kind, name, ...(namespace !== "" && { namespace }) });
  return paint.bold(oneLine(`${title}, composed by ${xr.compositionName}, ${run}`, MAX_NAME));
}

/**
 * Formats a call for a person: its step and time, the differences between the desired state that its function received
 * and returned, and what it reported. All text is escaped for a terminal.
 *
 * @param request undefined if it was not received
 */
export function printCall(request: ReceivedMessage | undefined, response: ReceivedMessage, paint: Paint): string {
  const lines = [headOf(response, paint)];
  const { document: returned, error } = response;
  if (error !== "") lines.push(paint.red(`failed: ${escapeControls(error)}`));
  if (request === undefined) lines.push(paint.dim("its request was not received, so nothing is compared"));
  if (returned !== undefined) {
    if (request?.document !== undefined) lines.push(...changes(request.document, returned, paint));
    lines.push(...reports(returned, paint));
  }
  return lines.flatMap((line) => line.split("\n")).join(`\n${INDENT}`);
}

function headOf({ meta, at }: ReceivedMessage, paint: Paint): string {
  const { stepIndex, stepName, functionName, iteration, timestamp } = meta;
  const began = timestamp && millisecondsOf(timestamp);
  const time =
    began === undefined ? "" : ` ${new Date(began).toISOString().slice(11)}: ${timeText(Math.max(0, at - began))}`;
  const again = iteration === 0 ? "" : `, call ${iteration + 1}`;
  return `${stepIndex + 1}. ${paint.bold(oneLine(stepName, MAX_NAME))} ${paint.dim(oneLine(functionName, MAX_NAME))}${time}${again}`;
}

function changes(given: JsonObject, returned: JsonObject, paint: Paint): string[] {
  const before = partsOf(given);
  const after = partsOf(returned);
  const observed = entriesOf(given, "observed");
  const lines: string[] = [];
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(key), after.get(key)];
    if (was !== undefined && is !== undefined && sameJson(was.value, is.value)) continue;
    const title = oneLine((is ?? was)?.title ?? "", MAX_NAME);
    if (is === undefined) lines.push(`${paint.red("-")} ${title}: no longer desired`);
    else if (was === undefined) {
      const note = is.entry === undefined || observed.has(is.entry) ? "" : ", does not exist yet";
      lines.push(`${paint.green("+")} ${title}: added${note}`, ...added(is.value, paint));
    } else {
      const hunks = lineDifference(printYaml(was.value), printYaml(is.value), {
        removed: (line) => paint.red(escapeControls(line)),
        added: (line) => paint.green(escapeControls(line)),
        title: paint.cyan,
      });
      lines.push(`${paint.yellow("~")} ${title}`, ...hunks.trimEnd().split("\n"));
    }
  }
  if (lines.length === 0) return [paint.dim("changes nothing")];
  const more = lines.length - MAX_LINES;
  return more <= 0
    ? lines
    : [...lines.slice(0, MAX_LINES), paint.dim(`... and ${count(more, "more line")} (-o json has them)`)];
}

function added(value: JsonValue, paint: Paint): string[] {
  return printYaml(value)
    .trimEnd()
    .split("\n")
    .map((line) => paint.green(`+${escapeControls(line)}`));
}

/** A part of a message that is compared with the same part of the other message. */
interface Part {
  readonly title: string;
  readonly value: JsonValue;
  /** The name of an entry of desired state. */
  readonly entry?: string;
}

/** The XR, the entries of desired state and the context. */
function partsOf(document: JsonObject): Map<string, Part> {
  const parts = new Map<string, Part>();
  const { context, desired } = document;
  const composite = isObject(desired) ? desired["composite"] : undefined;
  const kindOf = (entry: JsonValue): { kind?: string } => {
    const kind = isObject(entry) ? textAt(entry, "resource", "kind") : undefined;
    return kind === undefined ? {} : { kind };
  };
  if (isObject(composite))
    parts.set("composite", { title: entryTitle({ name: null, ...kindOf(composite) }), value: composite });
  for (const [name, value] of entriesOf(document, "desired"))
    parts.set(`entry ${name}`, { title: entryTitle({ name, ...kindOf(value) }), value, entry: name });
  if (context !== undefined) parts.set("context", { title: "context", value: context });
  return parts;
}

/** The entries of a state by name: a map in a message of function packages, and a list in a FunctionIO. */
function entriesOf(document: JsonObject, state: "observed" | "desired"): Map<string, JsonValue> {
  const resources = objectAt(document, state)["resources"];
  if (isObject(resources)) return new Map(Object.entries(resources));
  const list = Array.isArray(resources) ? resources : [];
  return new Map(
    list.flatMap((entry) => {
      const name = textAt(entry, "name");
      return name === undefined ? [] : [[name, entry] as const];
    }),
  );
}

/** The results, conditions and requirements of a response. */
function reports(document: JsonObject, paint: Paint): string[] {
  const lines = objectsAt(document, "results").map((result) => {
    const severity = (textAt(result, "severity") ?? "").replace("SEVERITY_", "").toLowerCase();
    const colour = severity === "fatal" ? paint.red : severity === "warning" ? paint.yellow : paint.dim;
    return `${colour(`${oneLine(severity, MAX_NAME)}:`)} ${oneLine(textAt(result, "message") ?? "")}`;
  });
  for (const condition of objectsAt(document, "conditions")) {
    const { type, status, reason, message } = textsAt(condition);
    const state = `condition ${type}: ${status?.replace("STATUS_CONDITION_", "").toLowerCase()}`;
    lines.push(oneLine([state, reason, message].filter((part) => part !== undefined).join(", ")));
  }
  const more = lines.length - MAX_RESULTS;
  const shown = lines.slice(0, MAX_RESULTS);
  if (more > 0) shown.push(paint.dim(`... and ${count(more, "more result")}`));
  const required = Object.values(objectAt(document, "requirements")).flatMap((one) =>
    isObject(one) ? Object.keys(one) : [],
  );
  if (required.length > 0) shown.push(paint.dim(oneLine(`requires ${[...new Set(required)].join(", ")}`, MAX_NAME)));
  return shown;
}
