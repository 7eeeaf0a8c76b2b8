import { join } from "node:path";
import type { Store } from "../src/store/store.ts";
import { type CopiedImage, type CopyOptions, copyImage } from "../src/transfer/copy-image.ts";
import { openStore } from "../src/transfer/open-store.ts";
import { type FakeRegistry, fakeRegistry } from "./fake-registry.ts";
import { type TestImage, testImage, writeLayout } from "./layout.ts";
import { type Sandbox, sandbox } from "./sandbox.ts";
import { file, tarball } from "./tarball.ts";

/** Short waits of registry clients. */
export const SHORT_WAITS = { stallTimeoutMs: 2000, retry: { attempts: 3, baseDelayMs: 1 } };

/** A layout with an image, and an empty store and registry. */
export interface PushPlaces extends AsyncDisposable {
  readonly box: Sandbox;
  readonly registry: FakeRegistry;
  readonly store: Store;
  readonly image: TestImage;
  readonly layout: string;
  /** The first layer, which is large. */
  readonly noise: { readonly digest: string; readonly size: number };
  /** Copies the layout's image to the registry. */
  push(options?: Partial<CopyOptions>): Promise<CopiedImage>;
}

export async function pushPlaces(): Promise<PushPlaces> {
  const box = sandbox();
  const registry = await fakeRegistry();
  const store = await openStore({ dir: box.store });
  const noise = Array.from({ length: 60_000 }, (_, i) => ((i * 2_654_435_761) >>> 0).toString(36)).join("");
  const image = testImage([tarball([file("noise", noise)]), tarball([file("b", "2")])]);
  const layout = writeLayout(join(box.dir, "layout"), image);
  return {
    box,
    registry,
    store,
    image,
    layout,
    noise: image.layers[0] as PushPlaces["noise"],
    push: (options) =>
      copyImage({
        from: layout,
        to: `${registry.host}/org/fn:v1`,
        store,
        insecureRegistries: [registry.host],
        ...SHORT_WAITS,
        ...options,
      }),
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      box[Symbol.dispose]();
    },
  };
}
