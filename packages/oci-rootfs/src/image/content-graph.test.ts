import { expect, test } from "vitest";
import { sha256, testImage } from "../../testing/layout.ts";
import { sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import { internalsOf } from "../store/store.ts";
import { openStore } from "../transfer/open-store.ts";
import { readContentGraph } from "./content-graph.ts";
import type { ImageSource } from "./image-source.ts";

const image = testImage([tarball([file("a", "1")])]);
const mediaType = "application/vnd.oci.image.index.v1+json";
const platform = { os: "linux", architecture: "amd64" };
const bytes = Buffer.from(
  JSON.stringify({ schemaVersion: 2, mediaType, manifests: [{ ...image.manifest, platform }] }),
);
const top = { bytes, digest: sha256(bytes), mediaType };

/** Returns another manifest of the same size for the digest. */
function lyingSource(): ImageSource {
  const other = testImage([tarball([file("b", "1")])]);
  const wrong = other.blobs.get(other.manifest.digest) as Buffer;
  expect(wrong.length).toBe(image.manifest.size);
  return {
    manifest: async () => ({ bytes: wrong, digest: image.manifest.digest }),
    blob: async ({ digest }) => [other.blobs.get(digest) as Buffer] as unknown as AsyncIterable<Uint8Array>,
    close: async () => {},
  };
}

test("a copy rejects another manifest than the requested one", async () => {
  const reading = readContentGraph(lyingSource(), top, undefined, new AbortController().signal);
  await expect(reading).rejects.toMatchObject({ code: "DigestMismatch", digest: image.manifest.digest });
});

test("a pull rejects another manifest than the requested one", async () => {
  using box = sandbox();
  const { images } = internalsOf(await openStore({ dir: box.store }));
  const preparing = images.prepare(top, { name: "fn", source: lyingSource(), platform });
  await expect(preparing).rejects.toMatchObject({ code: "DigestMismatch", digest: image.manifest.digest });
});
