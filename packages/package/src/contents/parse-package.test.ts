import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { PackageContents } from "./check-package.ts";
import { type ParsePackageOptions, parsePackage } from "./parse-package.ts";

const META = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: mine}\n";
const crd = (name: string): string =>
  `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ${name}}\n`;

function parse(text: string | Uint8Array, options: Partial<ParsePackageOptions> = {}): Promise<PackageContents> {
  return parsePackage(Buffer.from(text), { package: "xpkg.example/acme/f:v1", ...options });
}

test.each([
  ["separators before each", `---\n${META}---\n${crd("a")}---\n${crd("b")}`],
  ["separators between them, with comments and spaces", `${META}---  # next\n${crd("a")}--- \n---\n${crd("b")}---\n`],
  ["CRLF", `${META}---\n${crd("a")}---\n${crd("b")}`.replaceAll("\n", "\r\n")],
  ["a byte order mark", `\uFEFF${META}---\n${crd("a")}---\n${crd("b")}`],
  ["directives", `%YAML 1.1\n---\n${META}...\n%YAML 1.1\n---\n${crd("a")}---\n${crd("b")}`],
  [
    "content after the separator",
    `${META}--- {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",\n  "metadata": {"name": "a"}}\n---\n${crd("b")}`,
  ],
  ["--- within a text", `${META}---\n${crd("a")}x: |\n  ---\n  y\n---\n${crd("b")}`],
])("reads a stream with %s", async (_, text) => {
  const { kind, name, objects } = await parse(text);
  expect({ kind, name }).toEqual({ kind: "Function", name: "mine" });
  expect(objects.map((object) => (object["metadata"] as { name: string }).name)).toEqual(["a", "b"]);
});

test.each([
  ["NotYaml", Buffer.from([0x61, 0xff])],
  ["NotYaml", `${META}---\n\tx: [`],
  ["NoMetadata", ""],
  ["NoMetadata", crd("a")],
  ["SeveralMetadata", `${META}---\n${META}`],
  ["UnknownKind", META.replace("Function", "Bundle")],
  ["InvalidMetadata", META.replace("mine", "Not_A_Name")],
  ["ForbiddenObject", `${META}---\napiVersion: v1\nkind: Secret\n`],
  ["DuplicateObject", `${META}---\n${crd("a")}---\n${crd("a")}`],
  ["TooLarge", `${META}---\nx: ${"a".repeat(4 * 1024 * 1024)}\n`],
  ["TooLarge", META + `---\na: b\n`.repeat(10_001)],
  ["TooLarge", META + "---\n".repeat(20_001)],
  ["TooLarge", `${META}---\nx: [${"{},".repeat(260_000)}]\n`],
  ["TooLarge", `${META}---\n{"x":[${"1,".repeat(260_000)}1]}\n`],
  ["TooLarge", META + `---\na: &a [${"{},".repeat(100)}]\nx: [${"*a,".repeat(980)}]\n`.repeat(21)],
  ["TooLarge", `${META}...\n${"a\n...\n".repeat(300_000)}`],
])("refuses with the code %s", async (code, text) => {
  await expect(parse(text)).rejects.toMatchObject({
    name: "PackageError",
    code,
    retryable: false,
    package: "xpkg.example/acme/f:v1",
    message: expect.stringMatching(/^package xpkg\.example\/acme\/f:v1: .+; .+/) as string,
  });
});

test("names the field, and lists further faults", async () => {
  const text = `${META.replace("mine", "Not_A_Name")}spec: {crossplane: {version: latest}}\n`;
  await expect(parse(text)).rejects.toMatchObject({
    field: "metadata.name",
    details: [
      expect.stringMatching(/^package\.yaml, document 1:3:\d+: metadata\.name must/),
      expect.stringMatching(/spec\.crossplane\.version must/),
    ],
  });
});

test("refuses a package of another kind than asked for", async () => {
  await expect(parse(META, { kind: "Provider" })).rejects.toMatchObject({ code: "WrongKind" });
  await expect(parse(META, { kind: "Function" })).resolves.toMatchObject({ kind: "Function" });
});

test("reads a large package in a small heap", { timeout: 120_000 }, async () => {
  const program = `
    import { parsePackage } from ${JSON.stringify(new URL("parse-package.ts", import.meta.url).href)};
    const head = (name) => ${JSON.stringify(crd("NAME"))}.replace("NAME", name) + "spec:\\n";
    const documents = Array.from({ length: 8 }, (_, at) => head("c" + at) + "- b\\n".repeat(240_000));
    const text = [${JSON.stringify(META)}, ...documents].join("---\\n");
    console.log((await parsePackage(Buffer.from(text), { package: "p" })).objects.length);`;
  const flags = ["--max-old-space-size=160", "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { timeout: 100_000 });
  expect(stdout).toBe("8\n");
});

test("gives way to other work between documents", async () => {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  await parse(META + Array.from({ length: 100 }, (_, at) => `---\n${crd(`c${at}`)}`).join(""));
  clearImmediate(timer);
  expect(turns).toBeGreaterThan(50);
});
