import { type JsonObject, type JsonPath, listAt, objectAt, textOrEmpty } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import type { Composition } from "../api/composition.ts";
import { type FieldPath, FieldPathError, formatFieldPath, parseFieldPath } from "../field-path/field-path.ts";
import { closest } from "../reader/closest.ts";
import type { Finding } from "../reader/composition-error.ts";
import { Findings } from "../reader/field-reader.ts";
import { isObject } from "../values/json.ts";
import type { Schema } from "./compile.ts";
import { checkMetadata } from "./metadata/check-metadata.ts";
import { describeSchemaIssue } from "./structural/issue.ts";
import { formatProblem, transformedType, type ValueType, valueTypeOf } from "./value-types.ts";

/** The schemas that a Composition's patches are checked against. */
export interface PatchSchemas {
  /** The schema of a kind; undefined if it is unknown: its fields are not checked. */
  of(apiVersion: string, kind: string): Schema | undefined;
}

/** A kind with its schema. */
interface Side {
  readonly title: string;
  readonly schema: Schema;
}

/** The kinds that a patch reads and writes. Undefined: no schema is known. */
interface Sides {
  readonly composite: Side | undefined;
  readonly composed: Side | undefined;
}

/** The objects that a patch reads and writes, by its type. Undefined: the environment, which has no schema. */
const DIRECTIONS: Readonly<Record<string, { from: keyof Sides | undefined; to: keyof Sides | undefined }>> = {
  FromCompositeFieldPath: { from: "composite", to: "composed" },
  ToCompositeFieldPath: { from: "composed", to: "composite" },
  CombineFromComposite: { from: "composite", to: "composed" },
  CombineToComposite: { from: "composed", to: "composite" },
  FromEnvironmentFieldPath: { from: undefined, to: "composed" },
  ToEnvironmentFieldPath: { from: "composed", to: undefined },
  CombineFromEnvironment: { from: undefined, to: "composed" },
  CombineToEnvironment: { from: "composed", to: undefined },
};

/** The input of function-patch-and-transform has the templates of a Composition. */
const TEMPLATES_INPUT = /^pt\.fn\.crossplane\.io\//;

/**
 * Checks the field paths of a Composition's patches, and the fields of its bases, against the schemas of their kinds.
 * An API server drops a field that a schema does not have, so that such a patch never has an effect. Covers the input
 * of function-patch-and-transform too.
 */
export function checkPatches(composition: Composition, document: ParsedDocument, schemas: PatchSchemas): Finding[] {
  const findings = new Findings(document);
  const { compositeTypeRef, resourcesField = "resources" } = composition.spec;
  const checker = new PatchChecker(findings, schemas, compositeTypeRef);
  const spec = objectAt(document.value, "spec");
  checker.checkTemplates(spec, ["spec"], resourcesField);
  for (const [index, step] of indexedObjects(spec, "pipeline")) {
    const input = objectAt(step, "input");
    if (input["kind"] !== "Resources" || !TEMPLATES_INPUT.test(textOrEmpty(input, "apiVersion"))) continue;
    checker.checkTemplates(input, ["spec", "pipeline", index, "input"], "resources");
  }
  return findings.sorted();
}

class PatchChecker {
  readonly #findings: Findings;
  readonly #schemas: PatchSchemas;
  readonly #composite: Side | undefined;
  /** The problems so far: several templates use one patch set. */
  readonly #reported: Set<string> = new Set();

  constructor(findings: Findings, schemas: PatchSchemas, composite: { apiVersion: string; kind: string }) {
    this.#findings = findings;
    this.#schemas = schemas;
    this.#composite = this.#sideOf(composite.apiVersion, composite.kind);
  }

  /** @param holder has a list of templates, and patch sets */
  checkTemplates(holder: JsonObject, at: JsonPath, field: string): void {
    const sets = new Map<string, [JsonObject, JsonPath]>();
    for (const [index, set] of indexedObjects(holder, "patchSets"))
      sets.set(textOrEmpty(set, "name"), [set, [...at, "patchSets", index]]);
    for (const [index, template] of indexedObjects(holder, field)) {
      const path = [...at, field, index];
      const base = objectAt(template, "base");
      const sides = {
        composite: this.#composite,
        composed: this.#sideOf(textOrEmpty(base, "apiVersion"), textOrEmpty(base, "kind")),
      };
      this.#checkMetadata(base, [...path, "base"]);
      if (sides.composed !== undefined) this.#checkBase(base, [...path, "base"], sides.composed);
      this.#checkAll(template, path, sides, sets);
    }
    const environment = objectAt(holder, "environment");
    this.#checkAll(environment, [...at, "environment"], { composite: this.#composite, composed: undefined }, sets);
  }

  #checkAll(holder: JsonObject, at: JsonPath, sides: Sides, sets: ReadonlyMap<string, [JsonObject, JsonPath]>): void {
    for (const [index, patch] of indexedObjects(holder, "patches")) {
      const name = textOrEmpty(patch, "patchSetName");
      const set = sets.get(name);
      if (patch["type"] !== "PatchSet") this.#checkPatch(patch, [...at, "patches", index], sides);
      // Patch sets contain no patch sets.
      else if (set !== undefined) this.#checkAll(...set, sides, new Map());
      // The reader of the Composition reports those of its own templates.
      else if (at[1] === "pipeline" && name !== "") {
        const field = [...at, "patches", index, "patchSetName"];
        this.#report(field, `there is no patch set ${JSON.stringify(name)}; every run fails`, name, [...sets.keys()]);
      }
    }
  }

  #checkPatch(patch: JsonObject, at: JsonPath, sides: Sides): void {
    const direction = DIRECTIONS[textOrEmpty(patch, "type") || "FromCompositeFieldPath"];
    if (direction === undefined) return;
    const from = direction.from && sides[direction.from];
    const to = direction.to && sides[direction.to];
    this.#checkField(patch, "fromFieldPath", at, from);
    const variables = [...at, "combine", "variables"];
    for (const [index, variable] of indexedObjects(objectAt(patch, "combine"), "variables"))
      this.#checkField(variable, "fromFieldPath", [...variables, index], from);
    const target = textOrEmpty(patch, "toFieldPath") === "" ? "fromFieldPath" : "toFieldPath";
    this.#checkField(patch, target, at, to);
    const source = this.#typeOfSource(patch, at, from);
    const type = transformedType(source, listAt(patch, "transforms"), (index, problem) =>
      this.#report([...at, "transforms", index, "string", "fmt"], problem),
    );
    // The environment takes any value.
    if (direction.to !== undefined) this.#checkType(patch, [...at, target], textOrEmpty(patch, target), type, to);
  }

  #typeOfSource(patch: JsonObject, at: JsonPath, from: Side | undefined): ValueType {
    if (!textOrEmpty(patch, "type").startsWith("Combine")) return typeAt(textOrEmpty(patch, "fromFieldPath"), from);
    const combine = objectAt(patch, "combine");
    const types = indexedObjects(combine, "variables").map(([, variable]) =>
      typeAt(textOrEmpty(variable, "fromFieldPath"), from),
    );
    const problem = formatProblem(objectAt(combine, "string")["fmt"], types);
    if (problem !== undefined) this.#report([...at, "combine", "string", "fmt"], problem);
    return "string";
  }

  /** Reports a value whose type differs from that of its target. An API server would refuse it. */
  #checkType(patch: JsonObject, at: JsonPath, target: string, type: ValueType, to: Side | undefined): void {
    const wanted = isLabel(target) ? "string" : typeAt(target, to);
    if (type === undefined || wanted === undefined || type === wanted) return;
    if (type !== "string" && type !== "boolean" && wanted !== "string" && wanted !== "boolean") return;
    const from = textOrEmpty(patch, "fromFieldPath");
    const found = listAt(patch, "transforms").length === 0 ? `${from} is` : "the transforms give";
    this.#report(
      at,
      `${target}: expected ${A[wanted]}, but ${found} ${A[type]}; add a transform of type convert, toType: ${TO_TYPE[wanted]}`,
    );
  }

  #checkMetadata(base: JsonObject, at: JsonPath): void {
    // Crossplane ignores the name of a base.
    for (const issue of checkMetadata(base, { name: "segment", isComplete: false })) {
      const described = describeSchemaIssue(issue);
      this.#report([...at, ...issue.at], described.slice(described.indexOf(": ") + 2));
    }
  }

  #checkField(holder: JsonObject, field: string, at: JsonPath, side: Side | undefined): void {
    const text = textOrEmpty(holder, field);
    const path = side === undefined || text === "" ? undefined : pathOf(text);
    const missing = path && side?.schema.missingField(path);
    if (missing === undefined || side === undefined) return;
    const place = missing.within.length === 0 ? side.title : `${formatFieldPath(missing.within)} of ${side.title}`;
    this.#report([...at, field], `${text}: ${place} has no field ${missing.field}`, missing.field, missing.known);
  }

  #checkBase(base: JsonObject, at: JsonPath, { title, schema }: Side): void {
    for (const unknown of schema.prune(base).unknown) {
      const field = String(unknown.at(-1));
      const known = schema.missingField(unknown)?.known ?? [];
      this.#report([...at, ...unknown], `${title} has no such field`, field, known);
    }
  }

  #report(at: JsonPath, message: string, field = "", known: readonly string[] = []): void {
    const key = `${JSON.stringify(at)} ${message}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    const meant = this.#findings.full ? undefined : closest(field, known);
    this.#findings.error("Invalid", at, meant === undefined ? message : `${message}; did you mean ${meant}?`);
  }

  #sideOf(apiVersion: string, kind: string): Side | undefined {
    const schema = this.#schemas.of(apiVersion, kind);
    return schema && { title: `${kind} of ${apiVersion}`, schema };
  }
}

const A = { string: "a string", integer: "an integer", number: "a number", boolean: "a boolean" } as const;
const TO_TYPE = { string: "string", integer: "int64", number: "float64", boolean: "bool" } as const;

/** The type of a field; undefined if the path is empty, or the schema does not specify the type. */
function typeAt(text: string, side: Side | undefined): ValueType {
  const path = text === "" || side === undefined ? undefined : pathOf(text);
  return path === undefined ? undefined : valueTypeOf(side?.schema.typeOf(path) ?? "");
}

/** Whether a path names one label or annotation, which every kind has. */
function isLabel(text: string): boolean {
  const [first, second, key, ...more] = pathOf(text) ?? [];
  return (
    first === "metadata" && (second === "labels" || second === "annotations") && key !== undefined && more.length === 0
  );
}

/** An invalid path is reported where the Composition is read. */
function pathOf(text: string): FieldPath | undefined {
  try {
    return parseFieldPath(text);
  } catch (error) {
    if (error instanceof FieldPathError) return undefined;
    throw error;
  }
}

function indexedObjects(object: JsonObject, key: string): [number, JsonObject][] {
  const found = Object.hasOwn(object, key) ? object[key] : undefined;
  return (Array.isArray(found) ? found : []).flatMap((one, index) => (isObject(one) ? [[index, one]] : []));
}
