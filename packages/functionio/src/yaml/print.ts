import { DocumentError } from "../errors.ts";
import { formatPath, type JsonObject, type JsonValue } from "../json-value.ts";
import { notJson } from "../not-json.ts";
import { exactDigits } from "../print-json.ts";
import { resolvePlain } from "./plain-scalar.ts";

/**
 * YAML text of a value for people, as `kubectl -o yaml` lays it out: two spaces, lists not indented under their key, no line
 * folding, text of several lines as a block; keys in their order. Text that YAML 1.1 or 1.2 readers would take for
 * something else (`on`, `012`, `1e3`, `22:22`, `2001-01-01`) is quoted. Integers beyond 2^53 are exact. Ends with a newline.
 *
 * @throws {DocumentError} NotJson, for NaN, infinities and half surrogate pairs
 */
export function printYaml(value: JsonValue): string {
  const found = notJson(value);
  if (found !== undefined) {
    throw new DocumentError("NotJson", [{ path: formatPath(found.path), message: found.message }]);
  }
  const lines: string[] = [];
  if (isCollection(value)) printCollection(value, "", "", lines);
  else lines.push(printScalar(value, ""));
  return `${lines.join("\n")}\n`;
}

const STEP = "  ";

/** Prints a collection that is not empty; `lead` is what stands before its first entry: an indentation or `- `. */
function printCollection(value: JsonValue[] | JsonObject, lead: string, indent: string, lines: string[]): void {
  let before = lead;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (isCollection(item)) printCollection(item, `${before}- `, indent + STEP, lines);
      else lines.push(`${before}- ${printScalar(item, indent)}`);
      before = indent;
    }
    return;
  }
  for (const key in value) {
    const item = value[key] as JsonValue;
    const name = `${before}${printText(key, undefined)}:`;
    if (isCollection(item)) {
      const inner = Array.isArray(item) ? indent : indent + STEP;
      lines.push(name);
      printCollection(item, inner, inner, lines);
    } else lines.push(`${name} ${printScalar(item, indent)}`);
    before = indent;
  }
}

function isCollection(value: JsonValue): value is JsonValue[] | JsonObject {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.length > 0;
  for (const _ in value) return true;
  return false;
}

function printScalar(value: JsonValue, indent: string): string {
  if (typeof value === "string") return printText(value, indent);
  if (Array.isArray(value)) return "[]";
  if (typeof value === "object" && value !== null) return "{}";
  if (typeof value === "number" || typeof value === "bigint") return exactDigits(value) ?? printNumber(Number(value));
  return String(value);
}

/** `1e+21` needs a dot to be a number to YAML 1.1 readers. */
function printNumber(value: number): string {
  if (Object.is(value, -0)) return "0";
  const text = String(value);
  return text.includes("e") && !text.includes(".") ? text.replace("e", ".0e") : text;
}

/** Characters that a YAML text cannot carry as they are, or that people cannot see. */
const UNPRINTABLE = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|[\u{e0000}-\u{e0fff}]/u;
/** What cannot begin plain text, what ends it early, and white space that would be lost. */
const NOT_PLAIN = /^[-?:](?:[ \t]|$)|^[,[\]{}#&*!|>'"%@`]|^(?:---|\.\.\.)|: |:$|:\t|[ \t]#|^[ \t]|[ \t]$|[\t\n]/;
/** What YAML 1.1 readers other than Kubernetes' take for a number, a date, a merge or a default value. */
const OTHER_READERS =
  /^[-+]?(?:[0-9][0-9_]*)?(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?$|^0[xXoObB]|^[-+]?[0-9][0-9_,]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$|^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}|^<<$|^=$/;

/** Text as a scalar; as a block where there is an indentation for it and it has several lines. */
function printText(text: string, indent: string | undefined): string {
  if (UNPRINTABLE.test(text)) return printEscaped(text);
  if (text.includes("\n") || text.includes("\t")) {
    // A block would lose a first line that is empty or begins with white space, or need a width that hides in the header.
    return indent !== undefined && /^[^\s]/.test(text) && text.includes("\n") ? printBlock(text, indent) : printEscaped(text);
  }
  if (typeof resolvePlain(text) !== "string" || OTHER_READERS.test(text)) return `"${text}"`;
  return NOT_PLAIN.test(text) ? `'${text.replaceAll("'", "''")}'` : text;
}

function printBlock(text: string, indent: string): string {
  const body = text.replace(/\n+$/, "");
  const ends = text.length - body.length;
  const chomp = ends === 0 ? "-" : ends === 1 ? "" : "+";
  const lines = text.split("\n");
  // What follows the last line end is not a line.
  if (ends > 0) lines.pop();
  const pad = `\n${indent}${STEP}`;
  return `|${chomp}${lines.map((line) => (line === "" ? "\n" : pad + line)).join("")}`;
}

function printEscaped(text: string): string {
  return JSON.stringify(text).replace(/[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|[\u{e0000}-\u{e0fff}]/gu, (character) => {
    const point = character.codePointAt(0) ?? 0;
    return point > 0xffff ? `\\U${point.toString(16).padStart(8, "0")}` : `\\u${point.toString(16).padStart(4, "0")}`;
  });
}
