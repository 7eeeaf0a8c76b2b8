import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { SILENT } from "../../testing/run-xfn.ts";
import type { Output } from "../terminal/output.ts";
import { fingerprint } from "./fingerprint.ts";
import { inputPaths } from "./input-paths.ts";
import type { RenderOptions } from "./render-options.ts";
import { watchRender } from "./watch-render.ts";

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

function write(name: string, content: string): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

test("prints the first result, then only differences, and survives a run that fails", async () => {
  const files = { xr: write("xr.yaml", "1"), composition: write("composition.yaml", "") };
  const products: string[] = [];
  const notes: string[] = [];
  const output: Output = {
    interactive: false,
    columns: 80,
    product: async (text) => void products.push(String(text)),
    note: (line) => void notes.push(line),
    status: () => undefined,
  };
  const interrupt = new AbortController();
  // Each run changes a file, which starts the next run.
  const results = ["a\nb\n", "a\nc\n", undefined, "a\nc\n", "a\nd\n"];
  let runs = 0;
  const watching = watchRender(
    inputPaths(files, { timeout: 1000 }),
    output,
    async () => {
      const product = results[runs];
      runs += 1;
      write("xr.yaml", String(runs));
      if (runs > results.length) interrupt.abort(new Error("interrupted"));
      if (product === undefined) throw new Error("it cannot be rendered");
      return { product, notes: [], isFatal: false };
    },
    interrupt.signal,
  );
  await expect(watching).rejects.toThrow("interrupted");
  expect(products).toEqual(["a\nb\n", "@@ -1 +1 @@\n a\n-b\n+c\n", "@@ -1 +1 @@\n a\n-c\n+d\n"]);
  expect(notes).toContain("xfn: it cannot be rendered");
  expect(notes).toContain("xfn: rendered again: no difference");
});

/** The flags that name files, with a path. */
const FLAGS: [flag: string, naming: (path: string) => Partial<RenderOptions>][] = [
  ["--observed-resources", (path) => ({ observedResources: path })],
  ["--xrd", (path) => ({ xrd: path })],
  ["--environment", (path) => ({ environment: [path] })],
  ["--required-resources", (path) => ({ requiredResources: [path] })],
  ["--extra-resources", (path) => ({ extraResources: [path] })],
  ["--required-schemas", (path) => ({ requiredSchemas: path })],
  ["--function-credentials", (path) => ({ functionCredentials: path })],
  ["--context-files", (path) => ({ contextFiles: [`key=${path}`] })],
];

test.each(FLAGS)("renders again after a change of a file of %s", async (_, naming) => {
  const path = write("named.yaml", "1");
  const interrupt = new AbortController();
  let runs = 0;
  const watching = watchRender(
    inputPaths({ xr: "xr.yaml", composition: "c.yaml" }, { timeout: 1000, ...naming(path) }),
    SILENT,
    async () => {
      runs += 1;
      if (runs === 2) interrupt.abort(new Error("rendered again"));
      interrupt.signal.throwIfAborted();
      write("named.yaml", "22");
      return { product: "", notes: [], isFatal: false };
    },
    interrupt.signal,
  );
  await expect(watching).rejects.toThrow("rendered again");
});

test.each(FLAGS)("refuses stdin for %s", async (_, naming) => {
  const interrupt = new AbortController();
  const watching = watchRender(
    inputPaths({ xr: "xr.yaml", composition: "c.yaml" }, { timeout: 1000, ...naming("-") }),
    SILENT,
    async () => {
      interrupt.abort(new Error("it was rendered"));
      throw interrupt.signal.reason;
    },
    interrupt.signal,
  );
  await expect(watching).rejects.toMatchObject({ code: "Usage" });
});

test("refuses stdin", async () => {
  const watching = watchRender(
    inputPaths({ xr: "-", composition: "c.yaml" }, { timeout: 1000 }),
    SILENT,
    () => Promise.reject(new Error("it was rendered")),
    new AbortController().signal,
  );
  await expect(watching).rejects.toMatchObject({ code: "Usage" });
});

test("a fingerprint changes with every file of a folder, but not with node_modules and hidden files", () => {
  mkdirSync(join(dir, "lib"));
  mkdirSync(join(dir, "node_modules"));
  const fingerprints = new Set([fingerprint(dir)]);
  write("lib/a.ts", "1");
  fingerprints.add(fingerprint(dir));
  write("lib/a.ts", "22");
  fingerprints.add(fingerprint(dir));
  rmSync(join(dir, "lib/a.ts"));
  fingerprints.add(fingerprint(dir));
  expect(fingerprints.size).toBe(4);
  const before = fingerprint(dir);
  write("node_modules/a.js", "");
  expect(fingerprint(dir)).toBe(before);
  expect(fingerprint(join(dir, "missing"))).toBe("");
});
