import { formatPath, type JsonObject, type JsonPath, type JsonValue } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { goKind } from "../values/go-value.ts";
import { isObject, kindOf } from "../values/json.ts";
import { closest } from "./closest.ts";
import { type Finding, type FindingCode, MAX_FINDINGS } from "./composition-error.ts";

/** Collects the findings of a document with their positions in its text. */
export class Findings {
  readonly #all: Finding[] = [];
  readonly #paths: JsonPath[] = [];
  readonly #document: ParsedDocument;
  #errors = 0;

  constructor(document: ParsedDocument) {
    this.#document = document;
  }

  error(code: FindingCode, path: JsonPath, message: string): void {
    this.#add("error", code, path, message);
  }

  /** Whether the bound is reached. Further findings are only counted. */
  get full(): boolean {
    return this.#all.length >= MAX_FINDINGS;
  }

  /** Returns false, and drops the warning, once the bound is reached. */
  warning(code: FindingCode, path: JsonPath, message: string): boolean {
    if (this.full) return false;
    this.#add("warning", code, path, message);
    return true;
  }

  /** The number of errors so far. */
  get errors(): number {
    return this.#errors;
  }

  /** The findings in the order of the text. Findings without a position come last. */
  sorted(): Finding[] {
    if (this.#all.length === 0) return [];
    // Looking up positions walks the text, so it stops at the bound.
    const paths = this.#paths.slice(0, MAX_FINDINGS);
    const document = this.#document;
    const positions = document.positionsOf?.(paths) ?? paths.map((path) => document.positionOf(path));
    const all = this.#all.map((finding, index) => ({ ...finding, ...positions[index] }));
    return all.toSorted((a, b) => positionIn(a) - positionIn(b));
  }

  #add(severity: Finding["severity"], code: FindingCode, path: JsonPath, message: string): void {
    if (severity === "error") this.#errors++;
    this.#all.push({ severity, code, path: formatPath(path), message });
    this.#paths.push(path);
  }
}

function positionIn(finding: Finding): number {
  return (finding.line ?? Number.MAX_SAFE_INTEGER) * 1e6 + (finding.column ?? 0);
}

/** Reads the fields of one object and collects findings. As in Kubernetes, a field that is null counts as absent. */
export class FieldReader {
  readonly findings: Findings;
  /** The object itself. */
  readonly json: JsonObject;
  readonly #parent: FieldReader | undefined;
  readonly #steps: JsonPath;

  /** @param steps the path of the object from its parent, or from the root of the document */
  constructor(json: JsonObject, steps: JsonPath, findings: Findings, parent?: FieldReader) {
    this.json = json;
    this.#steps = steps;
    this.findings = findings;
    this.#parent = parent;
  }

  /** The path of the object. Joined on demand, because most objects have no findings. */
  get path(): JsonPath {
    return this.#parent === undefined ? this.#steps : [...this.#parent.path, ...this.#steps];
  }

  /** The position of an item in its list. */
  get index(): number {
    return Number(this.#steps.at(-1));
  }

  /** The value of a field. Undefined if absent or null. */
  value(field: string): JsonValue | undefined {
    return (Object.hasOwn(this.json, field) ? this.json[field] : undefined) ?? undefined;
  }

  /** The path of a field. */
  at(field: string): JsonPath {
    return [...this.path, field];
  }

  error(code: FindingCode, field: string, message: string): void {
    this.findings.error(code, this.at(field), message);
  }

  warning(code: FindingCode, field: string, message: string): boolean {
    return this.findings.warning(code, this.at(field), message);
  }

  /** Reports a missing field. `what` completes "is missing; give". */
  required<T>(field: string, value: T | undefined, what: string): T | undefined {
    // A field of the wrong type was already reported as such.
    if (value === undefined && this.value(field) === undefined)
      this.error("Required", field, `is missing; give ${what}`);
    return value;
  }

  string(field: string, value: JsonValue | undefined = this.value(field)): string | undefined {
    if (typeof value === "string" || value === undefined) return value;
    const advice = typeof value === "object" ? "" : "; quote it";
    this.error("Invalid", field, `expected a string, found ${kindOf(value)}${advice}`);
    return undefined;
  }

  /** A string that must not be empty. */
  text(field: string, what: string): string | undefined {
    const value = this.required(field, this.string(field), what);
    if (value !== "") return value;
    this.error("Required", field, `is empty; give ${what}`);
    return undefined;
  }

  /** True or false. */
  boolean(field: string, value: JsonValue | undefined = this.value(field)): boolean | undefined {
    if (typeof value === "boolean" || value === undefined) return value;
    this.error("Invalid", field, `expected true or false, found ${kindOf(value)}`);
    return undefined;
  }

  /** An integer of 64 bits. */
  integer(field: string, value: JsonValue | undefined = this.value(field)): number | bigint | undefined {
    if (value === undefined) return undefined;
    if ((typeof value === "number" || typeof value === "bigint") && goKind(value) === "int64") return value;
    const found = typeof value === "number" ? "another number" : kindOf(value);
    this.error("Invalid", field, `expected an integer of at most 64 bits, found ${found}`);
    return undefined;
  }

  oneOf<T extends string>(
    field: string,
    choices: readonly T[],
    value: JsonValue | undefined = this.value(field),
  ): T | undefined {
    const text = this.string(field, value);
    if (text === undefined) return undefined;
    for (const choice of choices) if (choice === text) return choice;
    this.notOneOf(field, text, choices);
    return undefined;
  }

  /** Reports a value that is none of the choices, and suggests the closest one. */
  notOneOf(field: string, value: string, choices: readonly string[]): void {
    // Finding the closest takes time, which a hostile file must not multiply.
    const meant = this.findings.full ? undefined : closest(value, choices);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    this.error("Invalid", field, `${JSON.stringify(value.slice(0, 64))} is not one of ${choices.join(", ")}${hint}`);
  }

  object(field: string, value: JsonValue | undefined = this.value(field)): FieldReader | undefined {
    if (value === undefined) return undefined;
    if (isObject(value)) return new FieldReader(value, [field], this.findings, this);
    this.error("Invalid", field, `expected an object, found ${kindOf(value)}`);
    return undefined;
  }

  /** The objects of a list. Other items are reported and skipped. */
  objects(field: string, value: JsonValue | undefined = this.value(field)): FieldReader[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.error("Invalid", field, `expected a list, found ${kindOf(value)}`);
      return [];
    }
    const readers: FieldReader[] = [];
    for (const [index, item] of value.entries()) {
      if (isObject(item)) readers.push(new FieldReader(item, [field, index], this.findings, this));
      else this.findings.error("Invalid", [...this.at(field), index], `expected an object, found ${kindOf(item)}`);
    }
    return readers;
  }

  /** Warns of unknown fields, and suggests the closest known one. */
  checkUnknown(known: ReadonlySet<string>, report?: (reader: FieldReader, field: string) => void): void {
    for (const field in this.json) {
      if (known.has(field) || !Object.hasOwn(this.json, field)) continue;
      if (report !== undefined) {
        report(this, field);
        continue;
      }
      const meant = closest(field, known);
      const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
      // Finding the closest takes time, so it stops at the bound on findings.
      if (!this.warning("Unknown", field, `no such field${hint}`)) return;
    }
  }
}
