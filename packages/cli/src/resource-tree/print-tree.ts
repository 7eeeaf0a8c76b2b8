import { type JsonObject, type JsonValue, textOrEmpty } from "@xfn/json";
import { printYaml } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { oneLine } from "@xfn/program/terminal-text";
import type { colours } from "../terminal/colours.ts";
import { allNodes, type Condition, conditionOf, type TreeNode } from "./tree.ts";
import { awaitsDeletion, causeOf } from "./usages.ts";

/** The forms of a tree, as of `crossplane beta trace`, and YAML. */
export type TreeForm = "default" | "wide" | "json" | "yaml" | "dot";

type Paint = ReturnType<typeof colours>;

/** Formats a tree. @param paint colours the tables; default: none */
export function printTree(tree: TreeNode, form: TreeForm, paint?: Paint): string {
  if (form === "json") return `${printJson(nodeJson(tree), 2)}\n`;
  if (form === "yaml") return printYaml(nodeJson(tree));
  if (form === "dot") return dotOf(tree);
  const isWide = form === "wide";
  const conditions = isPackage(tree.object) ? PACKAGE_CONDITIONS : CONDITIONS;
  const header = ["NAME", ...(isWide ? ["RESOURCE"] : []), ...conditions.map((type) => type.toUpperCase()), "STATUS"];
  const lines = table([header, ...rowsOf(tree, isWide, "", "")], paint);
  const events = eventRows(tree);
  if (events.length > 0)
    lines.push("", ...table([["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"], ...events], paint));
  return lines.map((line) => `${line}\n`).join("");
}

const CONDITIONS = ["Synced", "Ready"] as const;
const PACKAGE_CONDITIONS = ["Installed", "Healthy"] as const;

/** Whether an object is a package or a revision of one, which have conditions of their own. */
function isPackage(object: JsonObject): boolean {
  return textOrEmpty(object, "apiVersion").startsWith("pkg.crossplane.io/");
}

/** The two conditions of an object that tell its state. */
function conditionsOf(object: JsonObject): readonly [Condition, Condition] {
  const [first, second] = isPackage(object) ? PACKAGE_CONDITIONS : CONDITIONS;
  const state = conditionOf(object, second);
  // Crossplane 2 names the health of a revision and of its runtime apart.
  const revision = state.status === "" && isPackage(object) ? conditionOf(object, "RevisionHealthy") : state;
  return [conditionOf(object, first), revision];
}

function rowsOf(node: TreeNode, isWide: boolean, first: string, further: string): string[][] {
  const { object, children } = node;
  const resource = textOrEmpty(object, "metadata", "annotations", "crossplane.io/composition-resource-name");
  const row = [
    `${first}${titleOf(object)}`,
    ...(isWide ? [oneLine(resource)] : []),
    ...conditionsOf(object).map(({ status }) => oneLine(status) || "-"),
    statusOf(node, isWide),
  ];
  const below = children.flatMap((child, index) => {
    const isLast = index === children.length - 1;
    return rowsOf(child, isWide, `${further}${isLast ? "└─ " : "├─ "}`, `${further}${isLast ? "   " : "│  "}`);
  });
  return [row, ...below];
}

/** `Kind/name (namespace)`. */
function titleOf(object: JsonObject): string {
  const namespace = textOrEmpty(object, "metadata", "namespace");
  const title = `${textOrEmpty(object, "kind")}/${textOrEmpty(object, "metadata", "name")}`;
  return oneLine(namespace === "" ? title : `${title} (${namespace})`);
}

/** The most characters of a message in a narrow table. Errors have their cause at the end. */
const MAX_MESSAGE = 64;

const AWAITS_DELETION = { reason: "InUse", message: "its deletion was denied, and waits for these usages" };

/**
 * The reason and message of the first condition that is not true: Synced before Ready. An object in use whose deletion
 * was denied waits; a usage has its cause.
 */
function statusOf({ object, error }: TreeNode, isWide: boolean): string {
  const [synced, ready] = conditionsOf(object);
  const bad = [synced, ready].find(({ status, reason, message }) => status !== "True" && `${reason}${message}` !== "");
  const fine = { reason: ready.reason, message: ready.status === "True" ? causeOf(object) : ready.message };
  const shown = awaitsDeletion(object) ? AWAITS_DELETION : (bad ?? fine);
  const reason = error === undefined ? shown.reason : "Error";
  const whole = oneLine(error ?? shown.message, Number.POSITIVE_INFINITY);
  const message = !isWide && whole.length > MAX_MESSAGE ? `...${whole.slice(-MAX_MESSAGE)}` : whole;
  return message === "" ? oneLine(reason) : `${oneLine(reason)}: ${message}`;
}

function eventRows(tree: TreeNode): string[][] {
  const rows = allNodes(tree).flatMap(({ object, events = [] }) => events.map((event) => ({ event, object })));
  return rows
    .toSorted((a, b) => a.event.lastSeen.localeCompare(b.event.lastSeen))
    .map(({ event: { lastSeen, type, reason, message, count }, object }) => {
      const times = count > 1 ? ` (${count} times)` : "";
      return [lastSeen || "-", oneLine(type), oneLine(reason), titleOf(object), `${oneLine(message)}${times}`];
    });
}

/** Columns with three spaces between them, and of at least six. */
function table(rows: readonly (readonly string[])[], paint: Paint | undefined): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(6, ...rows.map((row) => (row[column] ?? "").length + 3)));
  return rows.map((row, index) => {
    const colour = (text: string): string => (paint === undefined ? text : painted(text, index === 0, paint));
    // Pad first: colours have no width.
    return row
      .map((cell, column) => cell.padEnd(column === row.length - 1 ? 0 : (widths[column] ?? 0)))
      .map(colour)
      .join("")
      .trimEnd();
  });
}

function painted(cell: string, isHeader: boolean, paint: Paint): string {
  const text = cell.trimEnd();
  if (isHeader) return paint.bold(cell);
  if (text === "True" || text === "Normal") return paint.green(cell);
  if (text === "False" || text.startsWith("Error: ")) return paint.red(cell);
  return text === "Unknown" || text === "Warning" ? paint.yellow(cell) : cell;
}

function nodeJson({ object, error, children, events }: TreeNode): JsonObject {
  return {
    object,
    ...(error !== undefined && { error }),
    ...(events !== undefined && { events: events.map((event): JsonValue => ({ ...event })) }),
    ...(children.length > 0 && { children: children.map(nodeJson) }),
  };
}

/** A graph for Graphviz: a box for each object, a line to each child. */
function dotOf(tree: TreeNode): string {
  const lines: string[] = [];
  const add = (node: TreeNode): string => {
    const id = `n${lines.filter((line) => line.includes("[label=")).length + 1}`;
    const { object, error } = node;
    const label = [
      `Name: ${titleOf(object)}`,
      `ApiVersion: ${textOrEmpty(object, "apiVersion")}`,
      `Ready: ${conditionOf(object, "Ready").status || "-"}`,
      `Synced: ${conditionOf(object, "Synced").status || "-"}`,
      ...(error === undefined ? [] : [`Error: ${error}`]),
    ];
    const text = label.map((line) => oneLine(line).replace(/["\\]/g, "\\$&")).join("\\n");
    lines.push(`\t${id} [label="${text}", shape=box];`);
    for (const child of node.children) {
      const below = add(child);
      lines.push(`\t${id} -- ${below};`);
    }
    return id;
  };
  add(tree);
  return `graph {\n${lines.join("\n")}\n}\n`;
}
