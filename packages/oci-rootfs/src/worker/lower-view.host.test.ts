import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { imageTree, lowerView } from "./lower-view.ts";

let box: Sandbox;
let layer: string;
beforeEach(() => {
  box = sandbox();
  layer = join(box.dir, "layer");
});
afterEach(() => {
  box[Symbol.dispose]();
});

/** More than a view looks up in one directory before it lists it. */
const MANY = 100;

const VIEWS = [
  ["a view", (mayList: boolean) => lowerView([{ root: layer, opaque: new Set() }], mayList)],
  ["an image", (mayList: boolean) => imageTree([layer], mayList)],
] as const;

// Layers never change, so a view that has listed a directory misses a file that is created afterwards.
describe.each(VIEWS)("after many look-ups, %s", (_, open) => {
  function findsNewFile(folder: string, mayList: boolean): boolean {
    mkdirSync(join(layer, folder), { recursive: true });
    const view = open(mayList);
    for (let n = 0; n < MANY; n++) view.lookup(join(folder, `missing${n}`));
    const path = join(folder, `new-${mayList}`);
    writeFileSync(join(layer, path), "");
    return view.lookup(path) !== undefined;
  }

  test.each(["", "etc", "etc/nested"])("has listed the directory /%s only if it may", (folder) => {
    expect(findsNewFile(folder, true)).toBe(false);
    expect(findsNewFile(folder, false)).toBe(true);
  });
});
