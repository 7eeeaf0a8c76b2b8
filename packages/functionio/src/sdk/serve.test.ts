import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MAX_TEXT_BYTES } from "@xfn/json";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const SDK = fileURLToPath(new URL("./index.ts", import.meta.url));
const ENTRY = fileURLToPath(new URL("./entry.ts", import.meta.url));
const INPUT =
  '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","observed":{"composite":{"resource":{"kind":"X","spec":{"n":9223372036854775807}}}}}';

interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "xfn-serve-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

let bundles = 0;
/** Bundles a function as a builder does, and returns the bundle's path. */
async function bundle(source: string): Promise<string> {
  const name = join(dir, `fn-${bundles++}`);
  await writeFile(`${name}.ts`, `import { compose, fatal, run } from ${JSON.stringify(SDK)};\n${source}`);
  await build({
    stdin: {
      contents: `import { serve } from ${JSON.stringify(ENTRY)};\nimport fn from ${JSON.stringify(`${name}.ts`)};\nserve(fn);\n`,
      resolveDir: dir,
    },
    outfile: `${name}.cjs`,
    bundle: true,
    platform: "node",
    format: "cjs",
    logOverride: { "empty-import-meta": "silent" },
  });
  return `${name}.cjs`;
}

async function run(file: string, input: string | Uint8Array, options: { keepOpen?: boolean } = {}): Promise<Run> {
  const child = spawn(process.execPath, [file], { stdio: ["pipe", "pipe", "pipe"] });
  const chunks: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] };
  child.stdout.on("data", (chunk: Buffer) => chunks.stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.stderr.push(chunk));
  child.stdin.on("error", () => {});
  child.stdin.write(input);
  if (options.keepOpen !== true) child.stdin.end();
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, stdout: Buffer.concat(chunks.stdout).toString(), stderr: Buffer.concat(chunks.stderr).toString() };
}

describe("a bundled function", () => {
  test("reads stdin, writes one line to stdout, exits 0", async () => {
    const file = await bundle(
      'export default compose(({ desired }) => desired.apply("a", { apiVersion: "v1", kind: "A" }));',
    );
    const { code, stdout, stderr } = await run(file, INPUT);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.endsWith("\n")).toBe(true);
    expect(stdout.trim().split("\n")).toHaveLength(1);
    expect(stdout).toContain('"desired":{"resources":[{"name":"a","resource":{"apiVersion":"v1","kind":"A"}}]}');
    expect(stdout).toContain('"n":9223372036854775807');
  });

  test("reads YAML too, and input of Crossplane without apiVersion and kind", async () => {
    const file = await bundle("export default compose(({ xr, results }) => results.normal(String(xr.kind)));");
    const { code, stdout } = await run(file, "observed:\n  composite:\n    resource:\n      kind: XStore\n");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: "FunctionIO",
      results: [{ severity: "Normal", message: "XStore" }],
    });
  });

  test("keeps stdout clean: console and stray writes go to stderr, even while modules load", async () => {
    const file = await bundle(`
      console.log("loading");
      process.stdout.write("written\\n");
      export default compose(() => { console.info("in the handler"); });`);
    const { code, stdout, stderr } = await run(file, INPUT);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ kind: "FunctionIO" });
    expect(stderr).toBe("loading\nwritten\nin the handler\n");
  });

  test("a throw is a fatal result with exit code 0 and its stack on stderr", async () => {
    const file = await bundle('export default compose(async () => { throw new Error("boom"); });');
    const { code, stdout, stderr } = await run(file, INPUT);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ results: [{ severity: "Fatal", message: "Error: boom" }] });
    expect(stderr).toMatch(/Error: boom\n\s+at /);
  });

  test.each([
    ["throws", `compose(() => inner()); function inner() { throw new Error("boom", { cause: new Error("why") }); }`],
    ["rejects", `compose(async () => inner()); async function inner() { throw new Error("boom"); }`],
    ["loses an error", `compose(() => void inner()); async function inner() { throw new Error("boom"); }`],
  ])("the stack of a handler that %s ends with its own frames", async (_, code) => {
    const { stderr } = await run(await bundle(`export default ${code}`), INPUT);
    expect(stderr).toMatch(/Error: boom\n\s+at inner/);
    expect(stderr).not.toMatch(/handlerCalledByXfn|at call |sdk[/]compose|sdk[/]serve/);
  });

  test.each(["", "{", "kind: [", '{"kind":"FunctionIO"}', "a: 1\n---\nb: 2\n"])(
    "input that is not a FunctionIO exits 1 and prints nothing: %j",
    async (input) => {
      const { code, stdout, stderr } = await run(await hello(), input);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^stdin/);
    },
  );

  test("a file without a function exits 1 and says what it needs", async () => {
    const { code, stderr } = await run(await bundle("export default undefined;"), INPUT);
    expect(code).toBe(1);
    expect(stderr).toContain("compose()");
  });

  test.each([
    "() => {}",
    "() => 1",
    "async () => null",
    "({ xr, desired }) => desired.apply(xr.metadata.name, { apiVersion: 'v1', kind: 'A' })",
  ])("a handler without compose exits 1, prints nothing and says what to write: %s", async (handler) => {
    const { code, stdout, stderr } = await run(await bundle(`export default ${handler};`), INPUT);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("export default compose(handler)");
  });

  test("input larger than 100 MiB exits 1", async () => {
    const { code, stderr } = await run(await hello(), new Uint8Array(MAX_TEXT_BYTES + 1).fill(0x20));
    expect(code).toBe(1);
    expect(stderr).toContain(String(MAX_TEXT_BYTES));
  });

  test("a large input and output pass whole through slow pipes", async () => {
    const text = "x".repeat(5_000_000);
    const file = await bundle(
      'export default compose(({ desired, xr }) => desired.apply("a", { apiVersion: "v1", kind: "A", copy: xr["text"] }));',
    );
    const child = spawn(process.execPath, [file], { stdio: ["pipe", "pipe", "inherit"] });
    const body = JSON.stringify({
      apiVersion: "apiextensions.crossplane.io/v1alpha1",
      kind: "FunctionIO",
      observed: { composite: { resource: { text } } },
    });
    // Written in pieces, so that the reader finds its pipe empty again and again.
    for (let at = 0; at < body.length; at += 1_000_000) {
      child.stdin.write(body.slice(at, at + 1_000_000));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    child.stdin.end();
    const chunks: Buffer[] = [];
    // Read late, so that the writer finds its pipe full.
    await new Promise((resolve) => setTimeout(resolve, 300));
    for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
    const output = JSON.parse(Buffer.concat(chunks).toString()) as {
      desired: { resources: { resource: { copy: string } }[] };
    };
    expect(output.desired.resources[0]?.resource.copy).toHaveLength(text.length);
  });

  test("a pipe that is non-blocking is waited for", async () => {
    // A socket pair, as some parents give it: it is non-blocking for both ends.
    const file = await hello();
    const parent = `
      const { spawn } = require("node:child_process");
      const child = spawn(process.execPath, [${JSON.stringify(file)}], { stdio: ["overlapped", "overlapped", "inherit"] });
      let out = ""; child.stdout.on("data", (d) => out += d);
      setTimeout(() => child.stdin.end(${JSON.stringify(INPUT)}), 200);
      child.on("close", (code) => { process.stdout.write(code + " " + out.length); });`;
    await writeFile(join(dir, "parent.cjs"), parent);
    const { stdout } = await run(join(dir, "parent.cjs"), "");
    expect(stdout).toMatch(/^0 1\d\d$/);
  });

  test("a handler that never ends is a fatal result, not silence", async () => {
    const file = await bundle("export default compose(() => new Promise(() => {}));");
    const { code, stdout } = await run(file, INPUT);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ results: [{ severity: "Fatal" }] });
  });

  test("a handler that calls process.exit is a fatal result", async () => {
    const file = await bundle("export default compose(() => { process.exit(0); });");
    expect(JSON.parse((await run(file, INPUT)).stdout)).toMatchObject({ results: [{ severity: "Fatal" }] });
  });

  test("open timers of the handler do not delay the pipeline", async () => {
    const file = await bundle("setInterval(() => {}, 60_000); export default compose(() => {});");
    expect((await run(file, INPUT)).code).toBe(0);
  });

  test("a write after the end fails the run: a forgotten await must not lose resources silently", async () => {
    const file = await bundle(`
      export default compose(async ({ desired }) => {
        setTimeout(() => desired.apply("late", { apiVersion: "v1", kind: "A" }), 20);
      });`);
    const { code, stderr } = await run(file, INPUT);
    expect(code).toBe(1);
    expect(stderr).toContain("after the handler ended");
  });

  test("an error that nothing catches fails the run, and stderr has only its stack", async () => {
    const file = await bundle('export default compose(() => void Promise.reject(new Error("lost")));');
    const { code, stderr } = await run(file, INPUT);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: lost\n(?: +at .*\n)+$/);
  });

  test("a function that also runs itself is served once", async () => {
    const file = await bundle("const fn = compose(() => {}); export default fn; run(import.meta, fn);");
    const { stdout } = await run(file, INPUT);
    expect(stdout.trim().split("\n")).toHaveLength(1);
  });

  let helloFile: Promise<string> | undefined;
  function hello(): Promise<string> {
    helloFile ??= bundle("export default compose(() => {});");
    return helloFile;
  }
});

describe("run", () => {
  const source = `import { compose, run } from ${JSON.stringify(SDK)};
const fn = compose(({ results }) => { results.normal("ran"); console.log("log"); });
export default fn;
await run(import.meta, fn);
`;

  test("serves the file that is the program", async () => {
    await writeFile(join(dir, "program.ts"), source);
    const { code, stdout, stderr } = await run(join(dir, "program.ts"), INPUT);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ results: [{ severity: "Normal", message: "ran" }] });
    expect(stderr).toBe("log\n");
  });

  test("does nothing in a file that is imported", async () => {
    await writeFile(join(dir, "imported.ts"), source);
    await writeFile(join(dir, "importer.ts"), 'import fn from "./imported.ts";\nconsole.log(typeof fn);\n');
    const { code, stdout } = await run(join(dir, "importer.ts"), "");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "function\n" });
  });
});
