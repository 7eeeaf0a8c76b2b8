import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { typeCheck } from "./type-check.ts";

let dir: string;
const { signal } = new AbortController();

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "xfn-types-test-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function write(name: string, content: string): void {
  writeFileSync(join(dir, name), content);
}

test("a correct function passes with xfn's own SDK and Node's types, and its folder stays unchanged", async () => {
  write(
    "function.ts",
    'import { compose } from "@xfn/functionio/sdk";\nimport { join } from "node:path";\nexport default compose(({ desired }) => { desired.delete(join("a", "b")); });\n',
  );
  expect(await typeCheck(dir, "function.ts", signal)).toBe(true);
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
  expect(await typeCheck(dir, "function.ts", signal)).toBe(true);
});

test("does not check tests beside the function", async () => {
  write("function.ts", "export default 1;\n");
  write("function.test.ts", 'const n: number = "text";\n');
  write(
    "tsconfig.json",
    '{ "compilerOptions": { "strict": true, "composite": true, "outDir": "dist" }, "include": ["**/*.ts"] }\n',
  );
  expect(await typeCheck(dir, "function.ts", signal)).toBe(true);
});

test("prefers the folder's own SDK to xfn's", async () => {
  mkdirSync(join(dir, "node_modules/@xfn/functionio"), { recursive: true });
  write(
    "node_modules/@xfn/functionio/package.json",
    '{"name":"@xfn/functionio","exports":{"./sdk":{"types":"./sdk.d.ts"}}}',
  );
  write("node_modules/@xfn/functionio/sdk.d.ts", "export declare const ours: 1;\n");
  write("function.ts", 'import { ours } from "@xfn/functionio/sdk";\nexport default ours;\n');
  expect(await typeCheck(dir, "function.ts", signal)).toBe(true);
});
