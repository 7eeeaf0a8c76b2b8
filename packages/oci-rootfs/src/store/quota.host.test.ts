import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { testImage, writeLayout } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import { ImageError } from "../base/errors.ts";
import { DEFAULT_LAYER_LIMITS } from "../layer/layer-limits.ts";
import { imageByName } from "../transfer/image-by-name.ts";
import { openStore } from "../transfer/open-store.ts";
import { ImageStore } from "./image-store.ts";
import { Quota } from "./quota.ts";
import { createStore, type Image, openInternals, type Store } from "./store.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
});
afterEach(() => {
  box[Symbol.dispose]();
});

const MEBIBYTE = 1024 * 1024;

/** An image of a little more than a mebibyte. */
function image(store: Store, name: string): Promise<Image> {
  const archive = tarball([file(name, Buffer.alloc(MEBIBYTE, name))]);
  return store.image(writeLayout(join(box.dir, name), testImage([archive])));
}

const layers = (): number => readdirSync(join(box.store, "layers", "sha256")).length;
const size = (store: Store): number => store.prune({ dryRun: true }).bytesLeft;

test("a store over its quota removes the least recently used images", async () => {
  const store = await openStore({ dir: box.store, maxBytes: 3.5 * MEBIBYTE });
  for (const name of ["a", "b", "c", "d", "e"]) store.release((await image(store, name)).digest);
  expect(size(store)).toBeLessThanOrEqual(3.5 * MEBIBYTE);
  expect(layers()).toBeGreaterThan(1);
  await expect.poll(() => box.leftovers()).toEqual([]);
});

test("images in use stay, and a new one fails if they leave no room", async () => {
  const store = await openStore({ dir: box.store, maxBytes: 2.5 * MEBIBYTE });
  const used = [await image(store, "a"), await image(store, "b")];
  await expect(image(store, "c")).rejects.toMatchObject({ code: "StoreFailed", retryable: true });
  expect(layers()).toBe(2);
  for (const { digest } of used) store.release(digest);
  expect((await image(store, "c")).layers).toHaveLength(1);
});

/** Fails when the test says so. */
class FullQuota extends Quota {
  readonly #asked = Promise.withResolvers<void>();
  readonly #answer = Promise.withResolvers<void>();
  readonly asked: Promise<void> = this.#asked.promise;

  override async added(): Promise<void> {
    this.#asked.resolve();
    await this.#answer.promise;
  }

  fail(): void {
    this.#answer.reject(new ImageError("StoreFailed", "no room", { retryable: true }));
  }
}

test("an image that another call gets while room is made stays if there is no room", async () => {
  const { images: _, ...parts } = openInternals({ dir: box.store });
  const quota = new FullQuota(box.store, 0);
  const { directory, layers: layerStore, leases } = parts;
  const limits = DEFAULT_LAYER_LIMITS;
  const images = new ImageStore({ store: directory, layers: layerStore, leases, suffix: "", limits, quota });
  const inside = { ...parts, images };
  const store = createStore(inside, (name, options = {}) => imageByName(inside, name, options));
  const failing = image(store, "a");
  await quota.asked;
  const used = await image(store, "a");
  quota.fail();
  await expect(failing).rejects.toMatchObject({ code: "StoreFailed" });
  expect(store.prune({ maxBytes: 0 }).images).toEqual([]);
  expect(readdirSync(used.layers[0] ?? "")).toEqual(["a"]);
  store.release(used.digest);
  expect(store.prune({ maxBytes: 0 }).images).toEqual([used.digest]);
});

test("locally built images stay", async () => {
  const store = await openStore({ dir: box.store, maxBytes: 1.5 * MEBIBYTE });
  const { digest } = await image(store, "a");
  store.tag("fn", digest);
  store.release(digest);
  await expect(image(store, "b")).rejects.toMatchObject({ code: "StoreFailed" });
  expect((await store.image("fn")).digest).toBe(digest);
});

test.each([
  ["its bytes", [file("a", Buffer.alloc(2 * MEBIBYTE))]],
  ["its number of files, which each take a block", Array.from({ length: 400 }, (_, i) => file(`f${i}`, "1"))],
])("an image over the quota by %s is rejected while it is unpacked", async (_, entries) => {
  const store = await openStore({ dir: box.store, maxBytes: MEBIBYTE });
  const name = writeLayout(join(box.dir, "layout"), testImage([tarball(entries)]));
  await expect(store.image(name)).rejects.toMatchObject({ code: "UnsafeLayer" });
  expect(layers()).toBe(0);
});
