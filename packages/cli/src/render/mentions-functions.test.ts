import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { mentionsFunctions, mentionsOnlyRunning } from "./mentions-functions.ts";

let dir: string;
beforeAll(() => {
  dir = temporaryFolder();
});

test.each([
  ["spec:\n  functions:\n  - name: a\n", true],
  ['{"spec":{"functions":[]}}', true],
  ["spec: {functions: [], resources: []}", true],
  ["spec:\n  mode: Pipeline\n  pipeline:\n  - step: a\n", true],
  ["spec:\n  # functions: later\n  resources: []\n", false],
  ["spec:\n  resources: []\n", false],
  ["# All functions of the team\nspec: {}\n", false],
  ["metadata: {annotations: {about: composition functions}}\n", false],
])("%j: %j", (text, expected) => {
  const file = join(dir, "composition.yaml");
  writeFileSync(file, text);
  expect(mentionsFunctions(file)).toBe(expected);
});

const running = "metadata: {annotations: {render.crossplane.io/runtime: Development}}\n";
const target = 'metadata: {annotations: {render.crossplane.io/runtime-development-target: "localhost:1"}}\n';
test.each([
  [`kind: Function\n${running}`, true],
  [`kind: Function\n${running}---\nkind: Function\n${running}`, true],
  [`kind: Function\n${running}---\nkind: Function\n`, false],
  [`kind: Function\n# ${running}`, false],
  [`kind: Function\n${target}`, false],
  [`kind: FunctionRevision\n${running}`, false],
  ["", false],
])("the Functions of %j run already: %j", (text, expected) => {
  const file = join(dir, "functions.yaml");
  writeFileSync(file, text);
  expect(mentionsOnlyRunning(file)).toBe(expected);
});

test("a file that cannot be read mentions none", () => {
  expect(mentionsFunctions(join(dir, "none.yaml"))).toBe(false);
  expect(mentionsFunctions(dir)).toBe(false);
  expect(mentionsFunctions("-")).toBe(false);
});
