import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildImage, openStore, type Store } from "@xfn/oci-rootfs";

/** Measures how the cost of an item grows from a tenth of `count` to `count`. */
export type Growth = (name: string, count: number, work: (count: number) => Promise<number>) => Promise<void>;
/** Measures work, in milliseconds of processor time. */
export type Spent = (work: () => Promise<void>) => Promise<number>;

const IMAGES = 5000;

/** Lists, prunes and looks up the images of a store of 5,000, which share a base layer. */
export async function storeImages(growth: Growth, spent: Spent): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  try {
    const stores = new Map<number, Store>();
    for (const count of [IMAGES / 10, IMAGES]) stores.set(count, await storeOf(join(directory, String(count)), count));
    const figure = (name: string, work: (store: Store, count: number) => unknown): Promise<void> =>
      growth(`growth/store-5000-images-${name}`, IMAGES, (count) =>
        spent(async () => {
          await work(stores.get(count) as Store, count);
        }),
      );
    await figure("list", (store, count) => expectCount(store.images().length, count));
    await figure("prune", (store, count) => {
      // Chooses about half of the images by their size, and removes none.
      const all = store.prune({ built: true, maxBytes: 0, dryRun: true });
      const half = store.prune({ built: true, maxBytes: all.bytes / 2, dryRun: true });
      expectCount(Math.round(half.images.length / (count / 2)), 1);
    });
    await figure("look-up", async (store, count) => {
      for (let at = 0; at < count; at += 1) store.release((await store.image(`bench-${at}`)).digest);
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function storeOf(dir: string, count: number): Promise<Store> {
  const store = await openStore({ dir });
  const base = { entries: [{ path: "/base", content: "base" }] };
  for (let at = 0; at < count; at += 1) {
    const own = { entries: [{ path: "/run", content: String(at), mode: 0o755 }] };
    await buildImage({ store, name: `bench-${at}`, layers: [base, own], config: { entrypoint: ["/run"] } });
    store.release((await store.image(`bench-${at}`)).digest);
  }
  return store;
}

function expectCount(actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`${actual} instead of ${expected}`);
}
