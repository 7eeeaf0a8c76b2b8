import { expect, test } from "vitest";
import { digestOf } from "../image/digest.ts";
import { type ArtifactFile, readArtifact } from "./read-artifact.ts";

const TYPE = "application/vnd.example.signature";
const layer = (content: string, more: object = {}): object => ({
  mediaType: TYPE,
  digest: digestOf(Buffer.from(content)),
  size: content.length,
  ...more,
});

/** The files of an artifact, whose blobs have the content `blob`. */
async function read(manifest: object | string, blob: string): Promise<ArtifactFile[]> {
  const bytes = Buffer.from(typeof manifest === "string" ? manifest : JSON.stringify(manifest));
  const source = {
    manifest: async () => ({ bytes, digest: digestOf(bytes) }),
    blob: async function* () {
      yield Buffer.from(blob);
    },
  };
  const options = { mediaTypes: new Set([TYPE]), maxFiles: 2, maxBytes: 10 };
  const { signal } = new AbortController();
  const parts = { ...source, blob: async () => source.blob() };
  const files: ArtifactFile[] = [];
  for await (const file of readArtifact(parts, { tag: "v1" }, options, signal)) files.push(file);
  return files;
}

test("the files of wanted types are read, with their annotations", async () => {
  const layers = [layer("a", { annotations: { b: "c" } }), layer("x", { mediaType: "another" }), layer("a")];
  expect(await read({ layers }, "a")).toEqual([
    { mediaType: TYPE, annotations: { b: "c" }, content: Buffer.from("a") },
    { mediaType: TYPE, annotations: {}, content: Buffer.from("a") },
  ]);
});

test.each<[what: string, manifest: object | string, blob: string, code: string]>([
  ["content with another digest", { layers: [layer("a")] }, "b", "DigestMismatch"],
  ["longer content", { layers: [layer("a")] }, "aa", "SizeMismatch"],
  ["a file beyond the limit", { layers: [layer("a".repeat(11))] }, "a".repeat(11), "TooLarge"],
  ["more files than the limit", { layers: [layer("a"), layer("a"), layer("a")] }, "a", "TooLarge"],
  ["a manifest beyond the limit", { layers: [], more: "a".repeat(512 * 1024) }, "", "TooLarge"],
  ["an index", { manifests: [] }, "", "InvalidManifest"],
  ["a manifest that is not JSON", "{", "", "InvalidManifest"],
  ["a layer without a digest", { layers: [{ mediaType: TYPE }] }, "", "InvalidManifest"],
])("%s is refused", async (_, manifest, blob, code) => {
  await expect(read(manifest, blob)).rejects.toMatchObject({ code });
});
