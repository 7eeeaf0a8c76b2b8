import { renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sha256, type TestImage, testImage, writeLayout } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import { openStore } from "../transfer/open-store.ts";

let box: Sandbox;
let name: string;
let image: TestImage;
beforeEach(() => {
  box = sandbox();
  image = testImage([tarball([file("a", "1")])]);
  name = writeLayout(join(box.dir, "layout"), image);
});
afterEach(() => {
  box[Symbol.dispose]();
});

test("a relative directory of the store stays the same if the process changes its directory", async () => {
  const before = process.cwd();
  process.chdir(box.dir);
  try {
    const store = await openStore({ dir: "store" });
    process.chdir(before);
    expect(store.dir).toBe(box.store);
    expect((await store.image(name)).layers.every((layer) => layer.startsWith(`${box.store}/`))).toBe(true);
  } finally {
    process.chdir(before);
  }
});

describe("a layout with a symbolic link", () => {
  test.each(["manifest", "layer", "index"])(
    "to a file outside is rejected, without its digest and size: %s",
    async (what) => {
      const secret = "known only to the owner";
      writeFileSync(join(box.dir, "outside"), secret);
      const layout = join(box.dir, "layout");
      const digest = { manifest: image.manifest.digest, layer: image.layers[0]?.digest ?? "" }[what];
      const path = digest === undefined ? join(layout, "index.json") : join(layout, "blobs/sha256", digest.slice(7));
      rmSync(path);
      symlinkSync(join(box.dir, "outside"), path);
      const error: unknown = await (await openStore({ dir: box.store })).image(name).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "InvalidManifest" });
      expect(String(error)).toContain("cp -rL");
      expect(String(error)).not.toContain(sha256(secret).slice(7));
      expect(String(error)).not.toContain(`${secret.length} bytes`);
    },
  );

  test("to a file of the layout is followed", async () => {
    const path = join(box.dir, "layout/blobs/sha256", (image.layers[0]?.digest ?? "").slice(7));
    renameSync(path, `${path}-real`);
    symlinkSync(`${path}-real`, path);
    expect((await (await openStore({ dir: box.store })).image(name)).layers).toHaveLength(1);
  });
});
