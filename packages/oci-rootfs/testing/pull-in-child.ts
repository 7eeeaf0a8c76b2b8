/**
 * Prepares an image in a separate process, which tests kill or run concurrently: STORE IMAGE [--hang].
 * With --hang it prints "hanging" and stops before the end of the first layer.
 */
import { createReadStream } from "node:fs";
import { parseLayoutName } from "../src/image/image-name.ts";
import { type Manifest, parseConfig, parseManifestOrIndex } from "../src/image/manifest.ts";
import { DEFAULT_LAYER_LIMITS } from "../src/layer/layer-limits.ts";
import { LayerStore } from "../src/store/layer-store.ts";
import { layoutSource, readLayoutEntry } from "../src/store/layout.ts";
import { openStoreDirectory } from "../src/store/store-directory.ts";
import { openStore } from "../src/transfer/open-store.ts";

const [dir = "", name = "", hang] = process.argv.slice(2);
if (hang === undefined) {
  const store = await openStore({ dir });
  console.log((await store.image(name)).layers.join(" "));
} else {
  const reference = parseLayoutName(name);
  const source = layoutSource(reference);
  const { bytes } = await source.manifest({ digest: readLayoutEntry(reference).digest }, undefined);
  const manifest = parseManifestOrIndex(bytes) as Manifest;
  const [descriptor] = manifest.layers;
  if (descriptor === undefined) throw new Error("no layers");
  const config = `${reference.dir}/blobs/sha256/${manifest.config.digest.slice(7)}`;
  const text = await createReadStream(config).toArray();
  const diffId = parseConfig(Buffer.concat(text), manifest.layers.length).rootfs?.diff_ids[0] ?? "";
  const stuck: AsyncIterable<Uint8Array> = {
    async *[Symbol.asyncIterator]() {
      const all = Buffer.concat(
        await createReadStream(`${reference.dir}/blobs/sha256/${descriptor.digest.slice(7)}`).toArray(),
      );
      yield all.subarray(0, all.length - 1);
      console.log("hanging");
      setInterval(() => {}, 1000);
      await new Promise(() => {});
    },
  };
  const layers = new LayerStore(openStoreDirectory(dir), undefined, DEFAULT_LAYER_LIMITS);
  await layers.ensure({ descriptor, diffId, source: { ...source, blob: async () => stuck }, signal: undefined });
}
