import type { JsonObject, JsonValue } from "@xfn/json";
import { random } from "../../sweep/random.ts";
import { Expressions } from "./expressions.ts";
import { FORMS } from "./forms.ts";
import { RECORD_SHAPE, type Shape, SIMPLE_SHAPES } from "./shapes.ts";

/** A schema with one rule or default, and values for it. */
export interface Case {
  readonly schema: JsonObject;
  /** The text of the rule, for reports. */
  readonly rule: string;
  readonly values: readonly JsonValue[];
}

/** Generates cases of rules: in the forms of public CRDs, and random ones. The same seed gives the same cases. */
export function cases(seed: number, count: number): Case[] {
  const next = random(seed);
  const expressions = new Expressions(next);
  const shapes = [RECORD_SHAPE, ...SIMPLE_SHAPES];
  const forms = shapes.flatMap((shape) => (FORMS[shape.name] ?? []).map((rule) => ({ shape, rule })));
  const result: Case[] = [];
  while (result.length < count) {
    const isForm = result.length < forms.length || expressions.chance(0.15);
    const { shape, rule } = isForm
      ? filled(result.length < forms.length ? (forms[result.length] as Form) : expressions.one(forms), expressions)
      : { shape: RECORD_SHAPE, rule: expressions.of("bool", 1 + Math.floor(next() * 4)) };
    result.push(caseOf(shape, rule, expressions));
  }
  return result;
}

interface Form {
  readonly shape: Shape;
  readonly rule: string;
}

function filled({ shape, rule }: Form, expressions: Expressions): Form {
  const text = rule
    .replaceAll("#", () => expressions.one(["0", "1", "2", "3", "5"]))
    .replaceAll("@", () => expressions.one(["''", "'a'", "'web'", "'http'"]));
  return { shape, rule: text };
}

function caseOf(shape: Shape, rule: string, expressions: Expressions): Case {
  const validation: JsonObject = { rule };
  if (expressions.chance(0.2)) validation["message"] = "a message";
  if (expressions.chance(0.1)) {
    validation["messageExpression"] = expressions.one([
      "'computed ' + string(1 + 1)",
      "self.name + '!'",
      "'%s'.format([self])",
      "1",
      "''",
      "'a\\nb'",
    ]);
  }
  if (expressions.chance(0.1)) {
    validation["reason"] = expressions.one([
      "FieldValueRequired",
      "FieldValueForbidden",
      "FieldValueDuplicate",
      "Nope",
    ]);
  }
  if (expressions.chance(0.1)) {
    validation["fieldPath"] = expressions.one([
      ".name",
      ".nested.size",
      ".labels['a/b']",
      ".nope",
      "name",
      "['foo-bar']",
    ]);
  }
  if (expressions.chance(0.04)) validation["optionalOldSelf"] = expressions.chance(0.8);
  const schema: JsonObject = { ...shape.schema, "x-kubernetes-validations": [validation] };
  // Every tenth value is a default, which must satisfy the rule.
  const fallback = expressions.one(shape.values);
  if (expressions.chance(0.06) && fallback !== undefined && fallback !== null) schema["default"] = fallback;
  return { schema: around(schema, expressions), rule, values: shape.values };
}

/** Some rules are within lists and maps, where their cost counts once for each item. */
function around(schema: JsonObject, expressions: Expressions): JsonObject {
  if (!expressions.chance(0.08)) return schema;
  const bounds = expressions.chance(0.5);
  return expressions.one<JsonObject>([
    { type: "array", ...(bounds && { maxItems: 3 }), items: schema },
    { type: "object", ...(bounds && { maxProperties: 3 }), additionalProperties: schema },
    { type: "object", properties: { inner: schema } },
  ]);
}

/** Puts a value where the schema of a case has it. */
export function placed(schema: JsonObject, value: JsonValue): JsonValue {
  if (schema["x-kubernetes-validations"] !== undefined) return value;
  if (schema["type"] === "array") return [value];
  return schema["additionalProperties"] === undefined ? { inner: value } : { key: value };
}
