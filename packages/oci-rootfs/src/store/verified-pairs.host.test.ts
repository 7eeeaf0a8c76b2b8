import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sha256, type TestImage, testImage, writeLayout } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import { openStore } from "../transfer/open-store.ts";

// The config of an image names its layers by the digests of their unpacked content (DiffIDs), and the manifest by those
// of their blobs. An attacker who knows the DiffID of another image's layer must not get it for another blob.

let box: Sandbox;
let layouts: number;
beforeEach(() => {
  box = sandbox();
  layouts = 0;
});
afterEach(() => {
  box[Symbol.dispose]();
});

const secret = tarball([file("secret", "of another image")]);
const other = tarball([file("other", "of the attacker")]);

const layout = (image: TestImage): string => writeLayout(join(box.dir, `layout${(layouts += 1)}`), image);
const attack = (): TestImage => testImage([other], { diffIds: [sha256(secret)] });

describe("an image that names the DiffID of an unpacked layer", () => {
  test("is rejected if its blob is another one", async () => {
    const store = await openStore({ dir: box.store });
    await store.image(layout(testImage([secret])));
    await expect(store.image(layout(attack()))).rejects.toMatchObject({ code: "DigestMismatch", layer: 0 });
    expect(readdirSync(join(box.store, "images", "sha256"))).toHaveLength(1);
  });

  test("is rejected if its blob is another one that the store has", async () => {
    const store = await openStore({ dir: box.store });
    await store.image(layout(testImage([secret])));
    await store.image(layout(testImage([other])));
    await expect(store.image(layout(attack()))).rejects.toMatchObject({ code: "DigestMismatch" });
    // The blob belongs to the other image, which still has it.
    expect((await store.image(layout(testImage([other], { config: { Cmd: ["/x"] } })))).layers).toHaveLength(1);
  });

  test("shares the layer if its blob is the same content, compressed in another way", async () => {
    const store = await openStore({ dir: box.store });
    const first = await store.image(layout(testImage([secret])));
    const pack = (archive: Buffer): Buffer => gzipSync(archive, { level: 9, memLevel: 1 });
    const second = await store.image(layout(testImage([secret], { pack, config: { Cmd: ["/x"] } })));
    expect(second.layers).toEqual(first.layers);
  });
});

test("layers of an older store, without recorded pairs, are verified and stay", async () => {
  const image = testImage([secret]);
  const { layers } = await (await openStore({ dir: box.store })).image(layout(image));
  rmSync(join(box.store, "unpacked"), { recursive: true });
  const store = await openStore({ dir: box.store });
  expect((await store.image(layout(image))).layers).toEqual(layers);
  const again = testImage([secret], { config: { Cmd: ["/x"] } });
  expect((await store.image(layout(again))).layers).toEqual(layers);
  expect(readdirSync(join(box.store, "unpacked", "sha256"))).toHaveLength(1);
});

test("an image that an older version prepared does not keep a layer of another image", async () => {
  const folder = join(box.store, "images", "sha256");
  const image = layout(testImage([other]));
  const first = await (await openStore({ dir: box.store })).image(image);
  const [name = ""] = readdirSync(folder);
  const victim = await (await openStore({ dir: box.store })).image(layout(testImage([secret])));
  // As that version recorded an attack.
  const record = JSON.parse(readFileSync(join(folder, name), "utf8")) as object;
  const layers = victim.layers.map((root) => root.split("/").at(-2));
  writeFileSync(join(folder, name), JSON.stringify({ ...record, version: 1, layers }));
  expect((await (await openStore({ dir: box.store })).image(image)).layers).toEqual(first.layers);
});
