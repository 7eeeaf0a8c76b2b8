import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { type Finished, runXfn } from "../../testing/run-xfn.ts";

// Hostile XRs and Compositions of templates alone. Each must give a result or an error soon, and must not control the
// terminal.

let dir: string;
let xr: string;
beforeAll(() => {
  dir = temporaryFolder();
  xr = write("xr.yaml", "apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: thing}\nspec: {size: 3}\n");
});

function write(name: string, content: string): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

function composition(template: string): string {
  return write(
    "composition.yaml",
    `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  resources:
  - base: {apiVersion: v1, kind: ConfigMap}
    ${template}
`,
  );
}

const render = (...args: string[]): Promise<Finished> => runXfn(["render", ...args]);

test("redos: (a+)+$ of a Composition on 100 kB of an XR", async () => {
  const spec = { text: `${"a".repeat(100_000)}!` };
  const large = write(
    "large.json",
    JSON.stringify({ apiVersion: "example.org/v1", kind: "XThing", metadata: { name: "thing" }, spec }),
  );
  const transforms = "[{type: string, string: {type: Regexp, regexp: {match: '(a+)+$'}}}]";
  const path = composition(`patches: [{fromFieldPath: spec.text, toFieldPath: data.text, transforms: ${transforms}}]`);
  const { code, stderr } = await render(large, path);
  expect(code).toBe(0);
  expect(stderr).toContain("spec.resources[0].patches[0]: transforms[0]");
});

test("warns about an index that would make a huge list, and fails its resource", async () => {
  const path = composition("patches: [{fromFieldPath: spec.size, toFieldPath: 'data.a[99999999]'}]");
  const { code, stdout, stderr } = await render(xr, path);
  expect(code).toBe(0);
  expect(stdout).not.toContain("ConfigMap");
  expect(stderr).toMatch(/composition\.yaml:8:\d+: spec\.resources\[0\]\.patches\[0\]\.toFieldPath/);
});

test("prototype: a patch to __proto__.x writes a field of that name", async () => {
  const { stdout } = await render(xr, composition("patches: [{fromFieldPath: spec.size, toFieldPath: __proto__.x}]"));
  expect(stdout).toContain("__proto__:\n  x: 3\n");
  expect(Object.hasOwn(Object.prototype, "x")).toBe(false);
});

test("an alias bomb in a Composition is exit code 2 with its position", async () => {
  const levels = "abcdefgh".split("").map((name, index, all) => {
    const items = index === 0 ? "x" : `*${all[index - 1]}`;
    return `${name}: &${name} [${Array.from({ length: 9 }, () => items).join(",")}]`;
  });
  const bomb = write("bomb.yaml", `${levels.join("\n")}\n`);
  const { code, stdout, stderr } = await render(xr, bomb);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/bomb\.yaml:\d+:\d+: .*alias/);
});

test.each(["-o", "--environment", "--xrd"])("links that form a cycle below %s are exit code 2", async (option) => {
  const folder = join(dir, "cycle");
  mkdirSync(folder, { recursive: true });
  rmSync(join(folder, "again.yaml"), { force: true });
  symlinkSync("../cycle/again.yaml", join(folder, "again.yaml"));
  const { code, stdout, stderr } = await render(xr, composition(""), option, folder);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/form a cycle/);
});

test("escapes: warnings, results and traces escape text of Compositions and XRs", async () => {
  const esc = '"\\e[2J\\e]0;owned\\a"';
  const hostile = write(
    "escapes.yaml",
    `apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: ${esc}}\nspec: {${esc}: ${esc}}\n`,
  );
  const path = write(
    "hostile.yaml",
    `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: ${esc}}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  ${esc}: 1
  resources:
  - name: ${esc}
    base: {apiVersion: v1, kind: ${esc}}
    patches:
    - {fromFieldPath: ${esc}, toFieldPath: "a['\\e[2J']", policy: {fromFieldPath: Required}}
    - {fromFieldPath: spec, toFieldPath: spec}
`,
  );
  for (const form of ["text", "json"]) {
    const { stdout, stderr } = await render(hostile, path, "-r", "-x", `--trace=${form}`);
    expect(stderr).toContain("owned");
    for (const control of ["\u0007", "\u001b"]) expect(`${stdout}${stderr}`).not.toContain(control);
  }
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be printed
const ACTS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

test.each<[name: string, args: (files: Readonly<Record<"xr" | "composition" | "definition", string>>) => string[]]>([
  ["render", ({ xr: file, composition: other }) => ["render", file, other]],
  ["render -x", ({ xr: file, composition: other }) => ["render", file, other, "-x"]],
  ["render --output json", ({ xr: file, composition: other }) => ["render", file, other, "-x", "--output", "json"]],
  ["render --trace", ({ xr: file, composition: other }) => ["render", file, other, "--trace"]],
  ["render --trace json", ({ xr: file, composition: other }) => ["render", file, other, "--trace", "json"]],
  ["render --xrd", ({ xr: file, composition: other, definition }) => ["render", file, other, "--xrd", definition]],
  ["validate", ({ xr: file, definition }) => ["validate", definition, file]],
  ["validate -o json", ({ xr: file, definition }) => ["validate", definition, file, "-o", "json"]],
  ["validate -o yaml", ({ xr: file, definition }) => ["validate", definition, file, "-o", "yaml"]],
  ["validate of a Composition", ({ composition: other, definition }) => ["validate", definition, other]],
  ["types", ({ definition }) => ["types", definition]],
  ["schema", ({ definition }) => ["schema", definition]],
])("%s escapes the characters of files on which a terminal acts", async (_name, args) => {
  const evil = '"a\\u202eb\\e[2J\\x9bc\\u2066d"';
  const files = {
    xr: write(
      "evil-xr.yaml",
      `apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: thing, annotations: {${evil}: ${evil}}}\nspec: {text: ${evil}, size: ${evil}}\n`,
    ),
    composition: write(
      "evil-composition.yaml",
      `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: ${evil}}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  ${evil}: 1
  resources:
  - name: ${evil}
    base: {apiVersion: v1, kind: ConfigMap, data: {${evil}: ${evil}}}
    patches: [{fromFieldPath: spec.text, toFieldPath: data.text}]
  - name: fails
    base: {apiVersion: v1, kind: ConfigMap}
    patches: [{fromFieldPath: spec.text, toFieldPath: data.n, transforms: [{type: convert, convert: {toType: int}}]}]
`,
    ),
    definition: write(
      "evil-definition.yaml",
      `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xthings.example.org}
spec:
  group: example.org
  names: {kind: XThing, plural: xthings}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {text: {type: string, description: ${evil}, enum: [${evil}]}, size: {type: integer}}}
`,
    ),
  };
  const { stdout, stderr } = await runXfn(args(files));
  expect(`${stdout}${stderr}`).toContain("202e");
  expect(stdout).not.toMatch(ACTS);
  expect(stderr).not.toMatch(ACTS);
});
