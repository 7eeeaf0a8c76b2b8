import { join } from "node:path";
import { Float64, type GoValue } from "@xfn/composition";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import fc, { type Arbitrary } from "fast-check";
import { readVectorFile, type VectorCase } from "../vectors/vector-file.ts";
import { copy, key, put, text, value } from "./generators.ts";

// Mutates valid inputs, because nearly valid ones reach more code than random ones.

const SPECIAL = [
  "",
  "[",
  "]",
  "'",
  '"',
  ".",
  "*",
  "[*]",
  "%",
  "%[1]",
  "%*d",
  "\\",
  "(",
  ")",
  "{",
  "}",
  ":",
  "- ",
  "\n",
  "&a ",
  "*a",
  "<<",
  "\t",
  "#",
  "e9",
  "Ki",
  "-",
];

type TextEdit = readonly [kind: "insert" | "remove" | "repeat" | "replace", at: number, length: number, what: string];

const textEdit: Arbitrary<TextEdit> = fc.tuple(
  fc.constantFrom("insert", "remove", "repeat", "replace"),
  fc.nat(4000),
  fc.integer({ min: 1, max: 40 }),
  fc.oneof(fc.constantFrom(...SPECIAL), text),
);

/** One of some texts, with up to four edits. */
export function mutatedText(corpus: readonly string[]): Arbitrary<string> {
  return fc.tuple(fc.constantFrom(...corpus), fc.array(textEdit, { maxLength: 4 })).map(([original, edits]) => {
    let edited = original;
    for (const [kind, position, length, what] of edits) {
      const at = position % (edited.length + 1);
      const rest = edited.slice(at + length);
      const head = edited.slice(0, at);
      if (kind === "insert") edited = head + what + edited.slice(at);
      else if (kind === "remove") edited = head + rest;
      else if (kind === "repeat") edited = head + edited.slice(at, at + length).repeat(3) + edited.slice(at);
      else edited = head + what + rest;
    }
    return edited;
  });
}

type NodeEdit = readonly [
  kind: "replace" | "remove" | "rename" | "wrap" | "text",
  node: number,
  what: GoValue,
  name: string,
];

const nodeEdit: Arbitrary<NodeEdit> = fc.tuple(
  fc.constantFrom("replace", "remove", "rename", "wrap", "text"),
  fc.nat(100_000),
  value,
  fc.oneof(key, text),
);

/** One of some values, with up to three of its nodes replaced, removed, renamed, wrapped, or turned into other text. */
export function mutatedValue<T extends JsonObject>(corpus: readonly T[]): Arbitrary<T> {
  return fc.tuple(fc.constantFrom(...corpus), fc.array(nodeEdit, { maxLength: 3 })).map(([original, edits]) => {
    const edited = copy(original);
    for (const edit of edits) editNode(edited, edit);
    return edited;
  });
}

type Position = readonly [parent: JsonObject | JsonValue[], name: string | number];

function editNode(root: JsonObject, [kind, position, what, name]: NodeEdit): void {
  const positions = positionsOf(root);
  const target = positions[position % Math.max(1, positions.length)];
  if (target === undefined) return;
  const [parent, at] = target;
  if (Array.isArray(parent)) {
    const index = at as number;
    if (kind === "remove") parent.splice(index, 1);
    else parent[index] = changed(kind, parent[index] ?? null, what, name);
    return;
  }
  const current = parent[at as string] ?? null;
  if (kind === "remove" || kind === "rename") delete parent[at as string];
  if (kind === "rename") put(parent, name, current);
  else if (kind !== "remove") put(parent, at as string, changed(kind, current, what, name));
}

function changed(kind: NodeEdit[0], current: JsonValue, what: GoValue, name: string): JsonValue {
  if (kind === "wrap") return [current];
  if (kind === "text") return typeof current === "string" ? `${current}${name}` : name;
  return copy(what) as JsonValue;
}

function positionsOf(root: JsonObject): Position[] {
  const positions: Position[] = [];
  const rest: (JsonObject | JsonValue[])[] = [root];
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    const names = Array.isArray(node) ? node.keys() : Object.keys(node);
    for (const name of names) {
      positions.push([node, name]);
      const child = (node as Record<string | number, JsonValue>)[name];
      if (Array.isArray(child) || (isObject(child) && !((child as unknown) instanceof Float64))) rest.push(child);
    }
  }
  return positions;
}

/** The inputs of one file of conformance vectors. */
export function vectorInputs(kind: string): VectorCase[] {
  return readVectorFile(join(import.meta.dirname, "../vectors", `${kind}.json.gz`)).map((vector) => {
    const { output: _output, error: _error, ...input } = vector;
    return input as VectorCase;
  });
}
