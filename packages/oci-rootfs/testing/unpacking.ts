import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { ImageError } from "../src/base/errors.ts";
import type { LayerLimits } from "../src/layer/layer-limits.ts";
import type { Image } from "../src/store/store.ts";
import { openStore } from "../src/transfer/open-store.ts";
import { type TestImageOptions, testImage, writeLayout } from "./layout.ts";
import { listTree, type Sandbox, sandbox } from "./sandbox.ts";
import { type RawEntry, tarball } from "./tarball.ts";

type Layers = readonly (readonly RawEntry[] | Buffer)[];
type Options = TestImageOptions & { limits?: Partial<LayerLimits> };

/** Unpacks layers in a sandbox of each test. */
export interface Unpacking {
  readonly box: Sandbox;
  /** Unpacks layers, and checks that nothing outside the store changes and nothing incomplete stays. */
  unpack(layers: Layers, options?: Options): Promise<Image>;
  /** Returns the error of layers that are not unpacked. */
  refused(layers: Layers, options?: Options): Promise<ImageError>;
}

/** Gives each test of a file a sandbox. */
export function unpacking(): Unpacking {
  let box: Sandbox;
  beforeEach(() => {
    box = sandbox();
  });
  afterEach(() => {
    box[Symbol.dispose]();
  });

  const unpack: Unpacking["unpack"] = async (layers, options = {}) => {
    const archives = layers.map((layer) => (Buffer.isBuffer(layer) ? layer : tarball(layer as RawEntry[])));
    const name = writeLayout(join(box.dir, "layout"), testImage(archives, options));
    const before = box.outside();
    const store = await openStore({ dir: box.store, limits: options.limits });
    try {
      return await store.image(name);
    } finally {
      expect(box.outside()).toBe(before);
      expect(box.leftovers()).toEqual([]);
    }
  };
  return {
    get box() {
      return box;
    },
    unpack,
    async refused(layers, options) {
      const error = await unpack(layers, options).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(ImageError);
      return error as ImageError;
    },
  };
}

/** Lists the files of an unpacked layer. */
export function tree(image: Image, layer = 0): string[] {
  return listTree(image.layers[layer] as string);
}

/** The header that GNU tar writes before an entry with a long name (L) or link target (K). */
export function gnuLong(type: "K" | "L", name: string): RawEntry {
  return { name: "././@LongLink", type, content: `${name}\0` };
}
