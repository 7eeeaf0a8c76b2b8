import fs, { type PathLike } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { testImage, writeLayout } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, symlink, tarball } from "../../testing/tarball.ts";
import { openStore } from "../transfer/open-store.ts";
import { readImageFile } from "./read-image.ts";

// A directory of a layer can have millions of names, which takes seconds to list. Only workers may do that.

const { readdirSync } = fs;
let box: Sandbox;
let listed: string[];
beforeEach(() => {
  box = sandbox();
  listed = [];
  // Worker threads have a copy of the module, which this does not change.
  fs.readdirSync = ((path: PathLike, ...rest: never[]) => {
    listed.push(String(path));
    return readdirSync(path, ...rest);
  }) as typeof readdirSync;
  syncBuiltinESMExports();
});
afterEach(() => {
  fs.readdirSync = readdirSync;
  syncBuiltinESMExports();
  box[Symbol.dispose]();
});

const ofLayers = (): string[] => listed.filter((path) => path.includes("/layers/sha256/"));
/** More than a view looks up in one directory before it lists it, and fewer links than are followed. */
const MANY = 38;

test("reading a file of an image lists no directory, even after many links", async () => {
  const links = Array.from({ length: MANY }, (_, i) => symlink(`etc/l${i}`, i === 0 ? "passwd" : `l${i - 1}`));
  const archive = tarball([...links, file("etc/passwd", "content")]);
  const store = await openStore({ dir: box.store });
  const { layers } = await store.image(writeLayout(join(box.dir, "layout"), testImage([archive])));
  expect(readImageFile(layers, `etc/l${MANY - 1}`, 100)?.toString()).toBe("content");
  expect(ofLayers()).toEqual([]);
});

test("checking a layer against those below lists no directory on this thread", async () => {
  const lower = tarball(Array.from({ length: MANY }, (_, i) => file(`d/f${i}`)));
  const upper = tarball(Array.from({ length: MANY }, (_, i) => file(`d/n${i}/x`)));
  const store = await openStore({ dir: box.store });
  const { layers } = await store.image(writeLayout(join(box.dir, "layout"), testImage([lower, upper])));
  expect(layers).toHaveLength(2);
  expect(ofLayers()).toEqual([]);
});
