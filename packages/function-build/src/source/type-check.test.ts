import { mkdirSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { MAX_SOURCE_BYTES } from "../files/plain-files.ts";
import { checkProject } from "./check-project.ts";
import { typeCheck } from "./type-check.ts";

let dir: string;
const { signal } = new AbortController();

beforeEach(() => {
  dir = temporaryFolder();
});

function write(name: string, content: string): void {
  writeFileSync(join(dir, name), content);
}

test("a correct function passes with xfn's own SDK and Node's types, and its folder stays unchanged", async () => {
  write(
    "function.ts",
    'import { compose } from "@xfn/functionio/sdk";\nimport { join } from "node:path";\nexport default compose(({ desired }) => { desired.delete(join("a", "b")); });\n',
  );
  expect(await typeCheck(dir, "function.ts", signal)).toBe(undefined);
  expect(readdirSync(dir)).toEqual(["function.ts"]);
});

test("reports a type error with file, line and column", async () => {
  write("function.ts", 'export const n: number = "text";\nexport default n;\n');
  const error: unknown = await typeCheck(dir, "function.ts", signal).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "Input", details: [expect.stringMatching(/function\.ts:1:14: error TS2322: /)] });
});

test("is strict without a tsconfig, else uses the tsconfig", async () => {
  write("function.ts", "export default function (a) { return a; }\n");
  await expect(typeCheck(dir, "function.ts", signal)).rejects.toMatchObject({ code: "Input" });
  write("tsconfig.json", '{ "compilerOptions": { "strict": false } }\n');
  expect(await typeCheck(dir, "function.ts", signal)).toBe(undefined);
});

test("does not have the compiler read JSON if a file would fill its memory", async () => {
  write("large.json", "");
  truncateSync(join(dir, "large.json"), MAX_SOURCE_BYTES + 1);
  write("small.json", '{"a": 1}');
  // The compiler would report that large.json is not JSON.
  const imports = 'import large from "./large.json";\nimport { a } from "./small.json";\n';
  write("function.ts", `${imports}export default [large, a];\n`);
  expect(await typeCheck(dir, "function.ts", signal)).toMatch(
    /^the types of JSON files were not checked: .*large\.json/,
  );
  write("function.ts", "export const n: number = 'text';\nexport default n;\n");
  await expect(typeCheck(dir, "function.ts", signal)).rejects.toMatchObject({ code: "Input" });
});

test("does not check tests in the function's folder", async () => {
  write("function.ts", "export default 1;\n");
  write("function.test.ts", 'const n: number = "text";\n');
  write(
    "tsconfig.json",
    '{ "compilerOptions": { "strict": true, "composite": true, "outDir": "dist" }, "include": ["**/*.ts"] }\n',
  );
  expect(await typeCheck(dir, "function.ts", signal)).toBe(undefined);
});

test("prefers the folder's own SDK to xfn's", async () => {
  mkdirSync(join(dir, "node_modules/@xfn/functionio"), { recursive: true });
  write(
    "node_modules/@xfn/functionio/package.json",
    '{"name":"@xfn/functionio","exports":{"./sdk":{"types":"./sdk.d.ts"}}}',
  );
  write("node_modules/@xfn/functionio/sdk.d.ts", "export declare const ours: 1;\n");
  write("function.ts", 'import { ours } from "@xfn/functionio/sdk";\nexport default ours;\n');
  expect(await typeCheck(dir, "function.ts", signal)).toBe(undefined);
});

// A function of a project with its own ideas: modules, an alias, Node's types, the SDK.
const OWN = `import { join } from "node:path";
import { compose } from "@xfn/functionio/sdk";
import { name } from "@lib/name";
import { other } from "./other.js";
export default compose(({ desired }) => { desired.delete(join(name, other)); });
`;

test.each([
  ["of an old CommonJS project", { module: "commonjs", target: "es5", moduleResolution: "node", lib: ["es5"] }],
  ["with options that this compiler removed", { outFile: "x.js", downlevelIteration: true, esModuleInterop: false }],
  ["with types that are not installed", { types: ["jest", "mocha"] }],
  ["of a library", { composite: true, declaration: true, isolatedDeclarations: true, outDir: "out", rootDir: "." }],
  ["for Node's own modules", { module: "nodenext", verbatimModuleSyntax: true, erasableSyntaxOnly: true }],
  ["that checks libraries", { skipLibCheck: false, exactOptionalPropertyTypes: false }],
  ["with options that do not exist", { fancy: true }],
])("a function compiles with a tsconfig %s", async (_, options) => {
  write("function.ts", OWN);
  write("other.ts", 'export const other = "b";\n');
  mkdirSync(join(dir, "library"));
  write("library/name.ts", 'export const name = "a";\n');
  const compilerOptions = { strict: true, baseUrl: "./", paths: { "@lib/*": ["library/*"] }, ...options };
  write("tsconfig.json", `// Ours.\n${JSON.stringify({ compilerOptions, include: ["**/*.ts"] }).replace("}}", "},}")}`);
  await typeCheck(dir, "function.ts", signal);
  write("library/name.ts", "export const name = 1;\n");
  await expect(typeCheck(dir, "function.ts", signal)).rejects.toMatchObject({
    details: [expect.stringMatching(/function\.ts:5:.* TS2345/)],
  });
});

test("a tsconfig that cannot be used is named, and the types are checked as strict", async () => {
  write("function.ts", "export default function (a) { return a; }\n");
  write("tsconfig.json", '{ "extends": "@tsconfig/nowhere" }\n');
  await expect(typeCheck(dir, "function.ts", signal)).rejects.toMatchObject({ code: "Input" });
  write("function.ts", "export default 1;\n");
  expect(await typeCheck(dir, "function.ts", signal)).toContain("@tsconfig/nowhere");
});

test("a tsconfig with a long string without end is read in linear time", () => {
  write("tsconfig.json", `"${'\\"'.repeat(200_000)}`);
  const before = performance.now();
  expect(checkProject(dir, "function.ts", undefined)).toMatchObject({ include: [] });
  expect(performance.now() - before).toBeLessThan(10_000);
});

test("does not run a compiler in the folder", async () => {
  mkdirSync(join(dir, "node_modules/typescript/bin"), { recursive: true });
  write("node_modules/typescript/package.json", '{"name":"typescript","version":"5.0.0","bin":{"tsc":"bin/tsc"}}');
  write(
    "node_modules/typescript/bin/tsc",
    `require("node:fs").writeFileSync(${JSON.stringify(join(dir, "ran"))}, "");`,
  );
  write("function.ts", "export default 1;\n");
  await typeCheck(dir, "function.ts", signal);
  expect(readdirSync(dir)).not.toContain("ran");
});
