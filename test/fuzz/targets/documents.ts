import assert from "node:assert/strict";
import {
  type FunctionIO,
  fromResourceList,
  parseFunctionIO,
  parseResourceList,
  printFunctionIO,
  toResourceList,
} from "@xfn/functionio";
import { printYaml, readDocuments } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import fc, { type Arbitrary } from "fast-check";
import { object, text } from "../generators.ts";
import { mutatedText } from "../mutate.ts";
import { type Target, target } from "../target.ts";

const YAML = [
  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {team: x, \"q\": 'y'}\ndata:\n  text: |\n    one\n    two\n  folded: >-\n    three\n    four\n",
  "- &base {a: 1, b: [1.0, 0x1f, 0o17, 1e3, .inf, yes, ~, 2001-01-01]}\n- <<: *base\n  c: *base\n- ? complex\n  : value\n",
  "a: 1\n---\nb: 2\n...\n--- # comment\n!!str c\n",
  'list:\n- - - x\n  - y\n-   z: {}\nempty:\nbig: 9223372036854775807\nquoted: "\\u00e9\\x41\\n"\n',
];
const JSON_TEXTS = [
  '{"a":[1,2.5,-0,1e400,9007199254740993],"__proto__":{"x":null},"\\ud800":true}',
  '[[[["\\u2028"]]]]',
];

const FUNCTION_IO = [
  "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: FunctionIO\nobserved:\n  composite:\n    resource: {apiVersion: e.org/v1, kind: X, metadata: {name: x}}\n    connectionDetails: [{name: a, value: b}]\n  resources:\n  - name: one\n    resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\ndesired:\n  composite:\n    resource: {apiVersion: e.org/v1, kind: X, metadata: {name: x}}\n  resources:\n  - name: one\n    resource: null\n  - name: two\n    resource: {apiVersion: v1, kind: Secret}\n    readinessChecks: [{type: MatchInteger, fieldPath: a, matchInteger: 9007199254740993}]\n    connectionDetails: [{name: k, fromConnectionSecretKey: s}]\nresults:\n- {severity: Warning, message: m}\n",
  '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","observed":{"composite":{"resource":{"apiVersion":"e.org/v1","kind":"X"}}},"desired":{"resources":[{"name":"a","resource":{"apiVersion":"v1","kind":"A"}}]},"results":[]}',
];

/** Documents that make parsers slow, or nest too deep. */
const bomb: Arbitrary<string> = fc
  .tuple(
    fc.constantFrom("[", "{a: ", "- ", "? ", "&a ", "*a ", "!!x ", "  ", "|\n", "a: &a [*a]\n", '"\\', "# "),
    fc.integer({ min: 1, max: 4000 }),
    text,
  )
  .map(([unit, count, end]) => unit.repeat(count) + end);

const document: Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: mutatedText([...YAML, ...JSON_TEXTS]) },
  {
    weight: 2,
    arbitrary: object.map((one) => JSON.stringify(one, (_key, v: unknown) => (typeof v === "bigint" ? Number(v) : v))),
  },
  { weight: 1, arbitrary: text },
  { weight: 1, arbitrary: bomb },
);

/** Reads any YAML or JSON file. The printed value must read as the same value. */
export const documents: Target = target({
  input: document,
  run: (input) => {
    for (const { value } of readDocuments(input)) {
      const json = printJson(value);
      const [again] = readDocuments(json);
      assert.equal(printJson(again?.value ?? null), json);
      const [fromYaml] = readDocuments(printYaml(value));
      assert.equal(printJson(fromYaml?.value ?? null), json);
    }
  },
});

/** Answers of functions. */
export const functionIO: Target = target({
  input: fc.oneof(
    { weight: 6, arbitrary: mutatedText(FUNCTION_IO).map((one) => Buffer.from(one, "utf8")) },
    { weight: 1, arbitrary: document.map((one) => Buffer.from(one, "utf8")) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  ),
  run: (input) => {
    const printed = printFunctionIO(parseFunctionIO(input));
    assert.equal(printFunctionIO(parseFunctionIO(Buffer.from(printed))), printed);
  },
});

const LIST_MARK = "fn.apiextensions.crossplane.io";
const RESOURCE_LISTS = [
  `apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: {apiVersion: v1, kind: ConfigMap, data: {a: b}}\nitems:\n- apiVersion: e.org/v1\n  kind: X\n  metadata:\n    name: x\n    annotations: {${LIST_MARK}/type: CompositeResource}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n    annotations:\n      ${LIST_MARK}/type: ComposedResource\n      ${LIST_MARK}/name: one\n      internal.config.kubernetes.io/index: "1"\nresults:\n- {severity: error, message: m}\n`,
  `{"apiVersion":"${LIST_MARK}/v1alpha1","kind":"ResourceList","items":[{"kind":"X","metadata":{"annotations":{"${LIST_MARK}/type":"CompositeResource"}}},{"kind":"A","n":9007199254740993,"metadata":{"annotations":{"${LIST_MARK}/type":"ComposedResource","${LIST_MARK}/name":"a"}}}]}`,
];
const NO_STATE: FunctionIO = { ...parseFunctionIO(FUNCTION_IO[1] ?? ""), observed: {}, desired: {} };

/** Responses of KRM functions. A conversion to the other form and back must not change them. */
export const resourceList: Target = target({
  input: fc.oneof(
    { weight: 6, arbitrary: mutatedText(RESOURCE_LISTS).map((one) => Buffer.from(one, "utf8")) },
    { weight: 1, arbitrary: document.map((one) => Buffer.from(one, "utf8")) },
  ),
  run: (input) => {
    const io = fromResourceList(parseResourceList(input), NO_STATE);
    const again = fromResourceList(parseResourceList(printJson(toResourceList(io))), io);
    assert.equal(printFunctionIO(again), printFunctionIO(io));
  },
});
