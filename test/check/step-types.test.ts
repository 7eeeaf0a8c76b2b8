import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { files, importsOf } from "./imports.ts";
import { isNode, type Node, visit } from "./syntax-nodes.ts";

// A new type of step must not change the programs that only need a property of it: they ask `traitsOf`, `stepsOf` and
// `isComplete` of @xfn/composition. These modules call the functions of each type.
const CALLERS: readonly string[] = [
  "packages/pipeline/src/steps/container-call.ts",
  "packages/pipeline/src/steps/plan.ts",
];
const TYPES: ReadonlySet<unknown> = new Set(["Package", "Container", "Chroot", "Wasm", "Webhook", "Pipeline"]);
const FIELDS: ReadonlySet<unknown> = new Set(["functionRef", "container", "webhook", "wasm"]);

/** The lines of a file that ask for the type of a step, or for the mode of a Composition. */
function questionsIn(file: string, text: string): string[] {
  const found: string[] = [];
  visit(parseSync(file, text).program, (node) => {
    if (!isQuestion(node)) return;
    const line = text.slice(0, Number(node["start"])).split("\n").length;
    found.push(`${file}:${line}`);
  });
  return found;
}

function isQuestion({ type, operator, left, right, discriminant, cases }: Node): boolean {
  if (type === "SwitchStatement")
    return isProperty(discriminant) && Array.isArray(cases) && cases.some(({ test }) => TYPES.has(test?.value));
  if (type !== "BinaryExpression" || !isNode(left) || !isNode(right)) return false;
  if (operator === "in") return FIELDS.has(left["value"]);
  const [value, other] = "value" in left ? [left["value"], right] : [right["value"], left];
  return TYPES.has(value) && isProperty(other);
}

/** `step.type`, `type`, `spec.mode` or `mode`. */
function isProperty(node: unknown): boolean {
  if (!isNode(node)) return false;
  const { name } = node["type"] === "MemberExpression" && isNode(node["property"]) ? node["property"] : node;
  return name === "type" || name === "mode";
}

test("recognises questions for the type of a step", () => {
  const asked = [
    'step.type === "Webhook"',
    '"Package" !== type',
    'spec.mode === "Pipeline"',
    '"container" in step',
    'switch (step.type) { case "Wasm": }',
  ];
  expect(asked.flatMap((text) => questionsIn("a.ts", text))).toHaveLength(asked.length);
  expect(
    questionsIn("a.ts", 'error.type === "cel"; strategy === "Webhook"; "name" in step; traits.caller === "x"'),
  ).toEqual([]);
});

test("only the modules that call functions ask for the type of a step", () => {
  const users = files("packages/*/src/**/*.ts").filter((file) => {
    if (file.endsWith(".test.ts") || CALLERS.includes(file)) return false;
    return importsOf(file).some(({ specifier }) => specifier === "@xfn/composition");
  });
  expect(users.length).toBeGreaterThan(20);
  expect(users.flatMap((file) => questionsIn(file, readFileSync(join(CHECKOUT, file), "utf8")))).toEqual([]);
});
