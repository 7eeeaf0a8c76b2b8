import { expect, test } from "vitest";
import { sha256, testImage } from "../testing/layout.ts";
import { file, tarball } from "../testing/tarball.ts";
import { readContentGraph } from "./content-graph.ts";
import type { ImageSource } from "./image-source.ts";

test("a source that gives another manifest than it was asked for is not believed", async () => {
  const [image, other] = [testImage([tarball([file("a", "1")])]), testImage([tarball([file("b", "1")])])];
  const mediaType = "application/vnd.oci.image.index.v1+json";
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests: [image.manifest] }));
  const wrong = other.blobs.get(other.manifest.digest) as Buffer;
  const source: ImageSource = {
    manifest: async () => ({ bytes: wrong, digest: image.manifest.digest }),
    blob: () => Promise.reject(new Error("no blobs")),
    close: async () => {},
  };
  expect(wrong.length).toBe(image.manifest.size);
  const reading = readContentGraph(source, { bytes, digest: sha256(bytes) }, undefined, new AbortController().signal);
  await expect(reading).rejects.toMatchObject({ code: "DigestMismatch", digest: image.manifest.digest });
});
