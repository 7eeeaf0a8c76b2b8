import { execFile } from "node:child_process";
import { existsSync, readdirSync, renameSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type TestImage, testImage, writeLayout } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, type RawEntry, tarball } from "../../testing/tarball.ts";
import { removeTree } from "../base/remove-tree.ts";
import { openStore } from "../transfer/open-store.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
});
afterEach(() => {
  box[Symbol.dispose]();
}, 60_000);

const CHILD = join(import.meta.dirname, "../../testing/count-main-thread.ts");

/** More than the main thread may make for one layer, with its record. */
const MANY_CHANGES = 5700;

/** A path of so many components, which differ from those of any other path. */
const deep = (name: string, components: number): RawEntry => ({
  ...file("short"),
  pax: { path: Array.from({ length: components }, () => name).join("/") },
});
const deepPaths = (count: number): RawEntry[] => Array.from({ length: count }, (_, i) => deep(`p${i}`, 250));

async function changes(image: TestImage, code = "none"): Promise<number> {
  const name = writeLayout(join(box.dir, "layout"), image);
  const { stdout } = await promisify(execFile)(process.execPath, [CHILD, box.store, name, code]);
  return Number(stdout);
}

describe("a layer of a few kilobytes", () => {
  test("that implies thousands of directories is not unpacked on the main thread", async () => {
    const image = testImage([tarball(deepPaths(12))]);
    expect(image.layers[0]?.size).toBeLessThan(64 * 1024);
    expect(await changes(image)).toBeLessThan(MANY_CHANGES);
  });

  test("that implies them only by whiteouts is not unpacked on the main thread", async () => {
    const whiteouts = deepPaths(12).map(({ pax, ...entry }) => {
      const path = pax?.["path"] ?? "";
      return { ...entry, pax: { path: path.replace(/[^/]*$/, ".wh.gone") } };
    });
    const image = testImage([tarball(whiteouts)]);
    expect(await changes(image)).toBeLessThan(MANY_CHANGES);
  });

  test("that is rejected after thousands of directories is not removed on the main thread", async () => {
    const image = testImage([tarball([...deepPaths(12), file("../x")])]);
    expect(await changes(image, "UnsafeLayer")).toBeLessThan(MANY_CHANGES);
  });
});

test("the trees of a killed process are not removed on the main thread", async () => {
  const [first, second] = [testImage([tarball(deepPaths(3))]), testImage([tarball([file("a")])])];
  const store = await openStore({ dir: box.store });
  const { layers } = await store.image(writeLayout(join(box.dir, "first"), first));
  // As if it was left by a process that was killed while it unpacked.
  renameSync(join(layers[0] as string, ".."), join(box.store, "tmp", "0badf00d.1.1.1.x"));
  utimesSync(join(box.store, "tmp", "0badf00d.1.1.1.x"), 0, 0);
  expect(await changes(second)).toBeLessThan(MANY_CHANGES);
});

test("pruned trees are not removed on the main thread, and are removed nevertheless", async () => {
  const store = await openStore({ dir: box.store });
  const { digest } = await store.image(writeLayout(join(box.dir, "layout"), testImage([tarball(deepPaths(3))])));
  store.release(digest);
  expect(store.prune({ maxBytes: 0, built: true }).images).toEqual([digest]);
  expect(readdirSync(join(box.store, "layers", "sha256"))).toEqual([]);
  expect(box.leftovers().length).toBeGreaterThan(0);
  await expect.poll(() => box.leftovers().length, { timeout: 50_000 }).toBe(0);
});

test("a removal of at most so many files stops, and can be continued", async () => {
  const store = await openStore({ dir: box.store });
  const { layers } = await store.image(writeLayout(join(box.dir, "layout"), testImage([tarball(deepPaths(3))])));
  const tree = join(layers[0] as string, "..");
  expect(removeTree(tree, 100)).toBe(false);
  expect(existsSync(tree)).toBe(true);
  expect(removeTree(tree)).toBe(true);
  expect(existsSync(tree)).toBe(false);
});
