// Helpers for tests of pulls: for each test an empty store, and a registry with an image of two layers.
import { afterEach, beforeEach, expect } from "vitest";
import type { ImageErrorCode } from "../src/base/errors.ts";
import type { Image, ImageOptions, Store } from "../src/store/store.ts";
import { openStore } from "../src/transfer/open-store.ts";
import { type FakeRegistry, fakeRegistry } from "./fake-registry.ts";
import { type TestImage, testImage } from "./layout.ts";
import { type Sandbox, sandbox } from "./sandbox.ts";
import { file, tarball } from "./tarball.ts";

export let box: Sandbox;
export let registry: FakeRegistry;
export let store: Store;
export let image: TestImage;

/** Renews them for each test of a file. */
export function usePulls(): void {
  beforeEach(async () => {
    box = sandbox();
    registry = await fakeRegistry();
    store = await openStore({ dir: box.store });
    image = testImage([tarball([file("a", "1".repeat(3000))]), tarball([file("b", "2")])]);
    registry.add(image);
  });
  afterEach(async () => {
    await registry[Symbol.asyncDispose]();
    box[Symbol.dispose]();
  });
}

/** Pulls the image, at most two times. */
export function pull(options: ImageOptions = {}): Promise<Image> {
  return store.image(`${registry.host}/fn`, {
    insecureRegistries: [registry.host],
    stallTimeoutMs: 30_000,
    retry: { attempts: 2, baseDelayMs: 1 },
    ...options,
  });
}

/** Expects that a pull fails, leaves nothing behind, and does not affect the next pull. */
export async function refused(code: ImageErrorCode, options: ImageOptions = {}): Promise<Error> {
  const error = await pull(options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: "ImageError", code });
  expect(box.leftovers()).toEqual([]);
  expect(store.list()).toEqual([]);
  registry.fault = () => false;
  registry.manifests.clear();
  registry.add(image);
  expect((await pull()).digest).toBe(image.manifest.digest);
  return error as Error;
}

/** The digest of a layer. */
export const blobOf = (index: number): string => image.layers[index]?.digest as string;
/** The path of a layer in the registry. */
export const blobUrl = (index: number): string => `/v2/fn/blobs/${blobOf(index)}`;
