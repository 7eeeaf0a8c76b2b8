import assert from "node:assert/strict";
import { checkSchema, compileSchema } from "@xfn/composition/schema";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import fc from "fast-check";
import { isTypedError } from "../../vectors/adapter.ts";
import { child, list } from "../../vectors/rule.ts";
import { copy, value } from "../generators.ts";
import { mutatedText, mutatedValue, vectorInputs } from "../mutate.ts";
import { type Target, target } from "../target.ts";
import { assertClean } from "./field-path.ts";

const FORMATS = [
  "date-time",
  "date",
  "email",
  "ipv4",
  "ipv6",
  "cidr",
  "uri",
  "uuid",
  "byte",
  "int32",
  "duration",
  "hostname",
  "mac",
];
const RULES = [
  "self.a > 0 && has(self.b)",
  "self.items.all(x, x.name.startsWith('a'))",
  "self.items.exists_one(x, self.items.all(y, x.name <= y.name))",
  "self.map.all(k, self.map[k].matches('^(a+)+$'))",
  "size(self.name) < 10 ? self.name == 'x' : duration(self.name) > duration('1s')",
  "self == oldSelf",
];

const OWN: JsonObject[] = [
  ...FORMATS.map((format): JsonObject => ({ type: "object", properties: { name: { type: "string", format } } })),
  ...RULES.map(
    (rule): JsonObject => ({
      type: "object",
      "x-kubernetes-validations": [{ rule, message: "no" }],
      properties: {
        a: { type: "integer", minimum: 1, multipleOf: 3, default: 2 },
        b: { "x-kubernetes-int-or-string": true },
        name: { type: "string", pattern: "^(a|aa)+$", maxLength: 40, enum: ["a", "aaa"], nullable: true },
        items: {
          type: "array",
          maxItems: 20,
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: { type: "object", required: ["name"], properties: { name: { type: "string", default: "a" } } },
        },
        map: { type: "object", additionalProperties: { type: "string", minLength: 1 } },
        any: { "x-kubernetes-preserve-unknown-fields": true },
      },
      oneOf: [{ required: ["a"] }, { required: ["b"] }],
      not: { required: ["z"] },
    }),
  ),
];

const SCHEMAS = [
  ...OWN,
  ...vectorInputs("xrd-crd").flatMap(({ xrd }) =>
    list(child(xrd as JsonObject, "spec")["versions"]).map((version) =>
      child(child(version, "schema"), "openAPIV3Schema"),
    ),
  ),
];

const VALUES: JsonObject[] = [
  { a: 3, b: "x", name: "aaa", items: [{ name: "a" }, { name: "b" }], map: { x: "y" }, any: { z: [1] } },
  { a: 0, items: [{}, {}], map: { x: "" }, name: `${"a".repeat(60)}!`, unknown: { deep: true } },
  { apiVersion: "v1", kind: "X", metadata: { name: "x" }, spec: { region: "eu", size: 3, list: [{ name: "a" }] } },
];

/** Defaults, prunes and validates any value with structural schemas and CEL rules. */
export const schema: Target = target<{ schema: JsonObject; value: JsonValue; old: JsonValue | undefined }>({
  input: fc.record({
    schema: mutatedValue(SCHEMAS),
    value: fc.oneof(
      { weight: 4, arbitrary: mutatedValue(VALUES) },
      { weight: 1, arbitrary: value },
    ) as fc.Arbitrary<JsonValue>,
    old: fc.option(mutatedValue(VALUES), { nil: undefined }),
  }),
  run: (input) => {
    try {
      const compiled = compileSchema(input.schema);
      checked(input.schema);
      const given = copy(input.value);
      const defaulted = compiled.default(given);
      assert.ok(Array.isArray(compiled.validate(defaulted, input.old)));
      if (isObject(input.value)) compiled.prune(defaulted);
    } finally {
      assertClean();
    }
  },
});

/** Checks for an API server. A schema that it rejects is used nevertheless. */
function checked(schema: JsonObject): void {
  try {
    checkSchema(schema);
  } catch (error) {
    if (!isTypedError(error)) throw error;
  }
}

const FUNCTIONS = [
  "self.name.split('a').map(x, size(x)).sum() < 3",
  "self.name.replace('a', 'aa', 3).lowerAscii().trim() != ''",
  "self.items.map(x, x.name).isSorted() || self.items.filter(x, x.name.contains('a')).size() == 1",
  "url(self.name).getHost() == '' && isQuantity(self.name) && quantity('1Gi').isLessThan(quantity('2G'))",
  "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP(self.name)",
  "timestamp('2023-01-01T00:00:00Z') - duration('1h') < timestamp('2024-01-01T00:00:00Z')",
  "self.a / self.a == 1 && self.a % 2 == 0 && -self.a < 9223372036854775807",
  "'%s %d'.format([self.name, self.a]) == 'x' && self.name.find('[0-9]+') == '' && self.name.findAll('a').size() == 0",
];

/** Evaluates CEL rules, even wrong and slow ones, on any value. */
export const cel: Target = target<{ rule: string; value: JsonObject }>({
  input: fc.record({ rule: mutatedText([...RULES, ...FUNCTIONS]), value: mutatedValue(VALUES) }),
  run: (input) => {
    try {
      const own = child(OWN.at(-1), "properties");
      const rules = [{ rule: input.rule, messageExpression: "'not ' + self.name" }];
      const compiled = compileSchema({ type: "object", "x-kubernetes-validations": rules, properties: own });
      assert.ok(Array.isArray(compiled.validate(input.value, VALUES[0])));
    } finally {
      assertClean();
    }
  },
});
