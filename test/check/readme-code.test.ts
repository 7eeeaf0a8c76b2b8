import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateTypes } from "@xfn/functionio/types";
import { readDocuments } from "@xfn/json/document";
import { beforeAll, expect, test } from "vitest";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { fencedBlocks } from "../harness/fenced-blocks.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { files } from "./imports.ts";

// Each TypeScript block of a package's README is a module that compiles as it is: with `strict`, and without names that
// another block declares.

const SETTINGS = {
  strict: true,
  module: "nodenext",
  target: "es2024",
  lib: ["es2024", "esnext.disposable"],
  types: ["node"],
  noEmit: true,
  allowImportingTsExtensions: true,
};

const DEFINITION = definitionYaml("XStore", {
  spec: "{ type: object, required: [count], properties: { count: { type: integer }, region: { type: string } } }",
  status: "{ type: object, properties: { buckets: { type: integer } } }",
});

let dir = "";
let blocks: string[] = [];

beforeAll(() => {
  dir = temporaryFolder();
  symlinkSync(join(CHECKOUT, "node_modules"), join(dir, "node_modules"));
  const types = generateTypes([...readDocuments(DEFINITION)]);
  blocks = files("packages/*/README.md").flatMap((path) => {
    const code = fencedBlocks(readFileSync(join(CHECKOUT, path), "utf8")).filter(({ language }) => language === "ts");
    const folder = path.split("/")[1] ?? "";
    mkdirSync(join(dir, folder));
    // Files of a reader's own project, which the examples import.
    cpSync(join(CHECKOUT, "examples/testing/functions"), join(dir, folder, "functions"), { recursive: true });
    writeFileSync(join(dir, folder, "types.ts"), types);
    return code.map(({ text }, index) => {
      const named = /^\/\/ (\w+(?:\.\w+)*\.ts)\n/.exec(text)?.[1];
      const name = join(folder, named ?? `block-${index + 1}.ts`);
      writeFileSync(join(dir, name), `${text}\nexport {};\n`);
      return name;
    });
  });
  writeFileSync(join(dir, "package.json"), '{"type":"module"}');
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify({ compilerOptions: SETTINGS, files: blocks }));
});

test("the code of the packages' READMEs compiles", () => {
  expect(blocks.length).toBeGreaterThan(10);
  expect(compile()).toBe("");
});

function compile(): string {
  try {
    return execFileSync(process.execPath, [join(CHECKOUT, "node_modules/typescript/bin/tsc"), "-p", dir], {
      encoding: "utf8",
      cwd: dir,
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
