import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { BUNDLE_FILE, type Bundle, bundle } from "./bundle.ts";
import { DEPENDENCIES_FILE } from "./split-dependencies.ts";

let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
});

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
}

const pack = (name: string, files: Readonly<Record<string, string>>, more: object = {}): void =>
  write({
    [`node_modules/${name}/package.json`]: JSON.stringify({ name, version: "1.0.0", ...more }),
    ...Object.fromEntries(Object.entries(files).map(([file, text]) => [`node_modules/${name}/${file}`, text])),
  });

/** A package that is large enough to be kept apart, or is not. */
const big = (bytes: number): void => pack("big", { "index.js": `exports.text = "${"x".repeat(bytes)}";\n` });
const LARGE = 300_000;

const compose = (body: string, imports: string): string =>
  `import { compose } from "@xfn/functionio/sdk";
${imports}
export default compose(async ({ results }) => { ${body} });
`;

/** Runs the function. Returns the messages of its results, or its stderr if it fails. */
function results({ files, dependencies }: Bundle): string[] {
  const out = mkdtempSync(join(dir, "out-"));
  for (const [name, content] of [...dependencies, ...files]) writeFileSync(join(out, name), content);
  const input = '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","observed":{}}';
  const { stdout, stderr } = spawnSync(process.execPath, [join(out, BUNDLE_FILE)], { input, encoding: "utf8" });
  const { results: found } = JSON.parse(stdout || `{"results":[{"message":${JSON.stringify(stderr)}}]}`) as {
    results: { message: string }[];
  };
  return found.map(({ message }) => message);
}

describe("dependencies", () => {
  test("have a file of their own if they are large, which does not change with the code", async () => {
    big(LARGE);
    const function_ = (text: string): string =>
      compose(`results.normal(String(big.text.length) + "${text}");`, 'import * as big from "big";');
    write({ "function.ts": function_("a") });
    const first = await bundle(dir, "function.ts");
    write({ "function.ts": function_("b") });
    const second = await bundle(dir, "function.ts");
    expect(results(second)).toEqual([`${LARGE}b`]);
    expect([...second.dependencies.keys()]).toContain(DEPENDENCIES_FILE);
    for (const [name, content] of second.dependencies)
      expect(Buffer.from(content).equals(first.dependencies.get(name) ?? Buffer.alloc(0))).toBe(true);
    expect(second.files.get(BUNDLE_FILE)?.length).toBeLessThan(LARGE);
  });

  test("stay with the code if they are small", async () => {
    big(1000);
    write({ "function.ts": compose("results.normal(big.text.slice(0, 1));", 'import * as big from "big";') });
    const made = await bundle(dir, "function.ts");
    expect(results(made)).toEqual(["x"]);
    expect([...made.dependencies.keys()]).not.toContain(DEPENDENCIES_FILE);
  });

  // A large and a small package must behave alike, in a file of their own or with the code.
  test.each([
    ["function.ts", "module"],
    ["function.ts", "commonjs"],
    ["function.mts", "commonjs"],
  ])("behave the same apart, in %s of a package that is a %s", async (entry, type) => {
    pack(
      "es",
      {
        "index.mjs":
          "export default 'default'; export const named = 'named'; export let count = 0; export const up = () => { count++; };",
        "other.mjs": "import { up } from './index.mjs'; export const again = () => up();",
      },
      { exports: { ".": "./index.mjs", "./other": "./other.mjs" } },
    );
    pack("cjs", { "index.js": "module.exports = (x) => 'called ' + x; module.exports.field = 'field';" });
    pack("flagged", {
      "index.js":
        "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'its default'; exports.a = 1;",
    });
    pack("lazy", { "index.js": "globalThis.order.push('lazy'); exports.value = 'lazy value';" });
    pack("first", { "index.js": "globalThis.order = ['first'];" });
    pack("second", { "index.js": "globalThis.order.push('second');" });
    write({
      "package.json": JSON.stringify({ name: "fn", type }),
      "own.ts": "globalThis.order.push('own'); export {};",
      [entry]: compose(
        `
        results.normal([es, named, ns.named, Object.keys(ns).toSorted().join("+")].join());
        up(); again();
        results.normal(String(ns.count) + String(count));
        results.normal(cjs("x") + cjs.field + field);
        results.normal(JSON.stringify(flagged) + a);
        const lazy = await import("lazy");
        results.normal(lazy.value + globalThis.order.join());
        results.normal(String(big.text.length > 0));
        `,
        `import "first"; import "./own.ts"; import "second";
        import es, { named, count, up } from "es"; import * as ns from "es"; import { again } from "es/other";
        import cjs, { field } from "cjs"; import flagged, { a } from "flagged"; import * as big from "big";
        declare global { var order: string[]; }`,
      ),
    });
    big(1000);
    const together = results(await bundle(dir, entry));
    big(LARGE);
    const apart = await bundle(dir, entry);
    expect([...apart.dependencies.keys()]).toContain(DEPENDENCIES_FILE);
    expect(results(apart)).toEqual(together);
    expect(together.join()).toContain("default,named");
    expect(together.join()).toContain("first,own,second");
  });

  test("that import the SDK stay with the code, so that there is one SDK", async () => {
    big(LARGE);
    pack(
      "helper",
      { "index.js": 'import { compose } from "@xfn/functionio/sdk"; export const make = compose;' },
      { type: "module" },
    );
    write({
      "function.ts": `import { make } from "helper"; import * as big from "big";
export default make(({ results }) => results.normal(String(big.text.length)));`,
    });
    const made = await bundle(dir, "function.ts");
    expect([...made.dependencies.keys()]).not.toContain(DEPENDENCIES_FILE);
  });

  test("are the same bytes in another folder", async () => {
    const texts: string[] = [];
    for (const place of ["one", "somewhere/else"]) {
      const outer = dir;
      dir = join(outer, place);
      big(LARGE);
      write({ "function.ts": compose("results.normal(big.text);", 'import * as big from "big";') });
      const { files, dependencies } = await bundle(dir, "function.ts");
      texts.push(
        [...dependencies, ...files].map(([name, content]) => `${name} ${Buffer.from(content).toString()}`).join("\n"),
      );
      dir = outer;
    }
    expect(texts[0]).toBe(texts[1]);
  });
});
