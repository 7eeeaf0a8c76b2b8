import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sha256, type TestImage, testImage, writeLayout } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { directory, file, symlink, tarball } from "../../testing/tarball.ts";
import { type LayerFileOptions, readLayerFile } from "./read-layer-file.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
});
afterEach(() => {
  box[Symbol.dispose]();
});

const LAYER = tarball([directory("etc"), file("other", "no"), file("./package.yaml", "wanted"), file("z", "no")]);
const UNRELATED = tarball([file("package.yaml", "of another layer")]);

function layout(image: TestImage, entries?: object[]): string {
  return writeLayout(join(box.dir, "layout"), image, entries);
}

function read(image: TestImage, options: Partial<LayerFileOptions> = {}, entries?: object[]) {
  const from = layout(image, entries);
  const isLayer = ({ digest }: { digest: string }): boolean => digest === image.layers[1]?.digest;
  return readLayerFile({ from, path: "package.yaml", maxBytes: 100, isLayer, ...options });
}

describe("a file of a layer", () => {
  test("is read from the selected layer only", async () => {
    const image = testImage([UNRELATED, LAYER, UNRELATED]);
    const { content, digest } = await read(image);
    expect(content?.toString()).toBe("wanted");
    expect(digest).toBe(image.manifest.digest);
  });

  test("needs no other layer", async () => {
    const image = testImage([UNRELATED, LAYER]);
    const from = layout(image);
    const [unrelated] = image.layers;
    rmSync(join(box.dir, "layout/blobs/sha256", unrelated?.digest.slice(7) ?? ""));
    const isLayer = ({ digest }: { digest: string }): boolean => digest !== unrelated?.digest;
    const { content } = await readLayerFile({ from, path: "/package.yaml", maxBytes: 100, isLayer });
    expect(content?.toString()).toBe("wanted");
  });

  test.each([
    ["the top one that has it", [LAYER, UNRELATED, tarball([file("other")])], "of another layer"],
    ["the only one", [LAYER], "wanted"],
    ["none", [tarball([file("other")]), tarball([file("etc/package.yaml")])], undefined],
    ["none below its whiteout", [LAYER, tarball([file(".wh.package.yaml")])], undefined],
    ["none below an opaque root", [LAYER, tarball([file("./.wh..wh..opq")])], undefined],
    ["the one above its whiteout", [LAYER, tarball([file(".wh.package.yaml")]), UNRELATED], "of another layer"],
    [
      "the one of a layer that hides a lower one",
      [LAYER, tarball([file(".wh..wh..opq"), file("package.yaml", "x")])],
      "x",
    ],
  ])("without a selected layer is that of %s", async (_, layers, content) => {
    expect((await read(testImage(layers), { isLayer: () => false })).content?.toString()).toBe(content);
  });

  test("in a directory is hidden by the whiteout of the directory", async () => {
    const lower = tarball([directory("a"), file("a/b", "x")]);
    for (const [hiding, content] of [
      [".wh.a", undefined],
      ["a/.wh.b", undefined],
      ["a/.wh..wh..opq", undefined],
      [".wh.b", "x"],
    ] as const) {
      const image = testImage([lower, tarball([directory("a"), file(hiding)])]);
      expect((await read(image, { path: "a/b", isLayer: () => false })).content?.toString()).toBe(content);
    }
  });

  test("is undefined if the selected layer lacks it", async () => {
    expect((await read(testImage([LAYER, tarball([file("other")])]))).content).toBeUndefined();
  });

  test("of an index is that of the platform, else of the first image", async () => {
    const other = testImage([UNRELATED, tarball([file("package.yaml", "other")])], {
      platform: { architecture: "other" },
    });
    const image = testImage([UNRELATED, LAYER]);
    for (const [digest, bytes] of other.blobs) image.blobs.set(digest, bytes);
    const manifests = [
      { ...image.manifest, platform: { os: "linux", architecture: "amd64" } },
      { ...other.manifest, platform: { os: "linux", architecture: "other" } },
    ];
    const index = Buffer.from(JSON.stringify({ schemaVersion: 2, manifests }));
    image.blobs.set(sha256(index), index);
    const mediaType = "application/vnd.oci.image.index.v1+json";
    const entries = [{ mediaType, digest: sha256(index), size: index.length }];
    const isLayer = ({ digest }: { digest: string }): boolean =>
      [image.layers[1]?.digest, other.layers[1]?.digest].includes(digest);
    const of = async (architecture: string): Promise<string | undefined> => {
      const from = layout(image, entries).replace(/:t$/, "");
      const platform = { os: "linux", architecture };
      const { content } = await readLayerFile({ from, path: "package.yaml", maxBytes: 100, isLayer, platform });
      return content?.toString();
    };
    expect([await of("other"), await of("amd64"), await of("s390x")]).toEqual(["other", "wanted", "wanted"]);
  });
});

describe("is rejected", () => {
  test.each([
    [
      "a layer that is not its digest",
      "DigestMismatch",
      (bytes: Buffer) => bytes.toString("latin1").replace("wanted", "Wanted"),
    ],
    ["a layer that is longer than it says", "SizeMismatch", (bytes: Buffer) => `${bytes.toString("latin1")}\0`],
  ])("%s", async (_, code, change) => {
    const image = testImage([UNRELATED, LAYER], { pack: (bytes) => bytes });
    const digest = image.layers[1]?.digest ?? "";
    image.blobs.set(digest, Buffer.from(change(image.blobs.get(digest) ?? Buffer.alloc(0)), "latin1"));
    await expect(read(image)).rejects.toMatchObject({ code, image: expect.stringMatching(/^oci:/) });
  });

  test.each([
    ["a file that is too large", "TooLarge", tarball([file("package.yaml", "x".repeat(101))])],
    ["a layer that unpacks to too much", "TooLarge", tarball([file("bomb", Buffer.alloc(70 * 1024 * 1024))])],
    [
      "a file that is there twice",
      "InvalidManifest",
      tarball([file("package.yaml", "first"), file("./package.yaml", "second")]),
    ],
    ["a link", "InvalidConfig", tarball([symlink("package.yaml", "/etc/passwd")])],
    ["a layer that is cut off", "UnsafeLayer", LAYER.subarray(0, 700)],
  ])("%s", async (_, code, archive) => {
    await expect(read(testImage([UNRELATED, archive]))).rejects.toMatchObject({ code });
  });

  test("two selected layers", async () => {
    await expect(read(testImage([LAYER, UNRELATED]), { isLayer: () => true })).rejects.toMatchObject({
      code: "InvalidManifest",
    });
  });

  test("a manifest of an index with a wrong size", async () => {
    const image = testImage([UNRELATED, LAYER]);
    const longer = { ...image.manifest, size: image.manifest.size + 1 };
    const index = Buffer.from(JSON.stringify({ schemaVersion: 2, manifests: [longer] }));
    image.blobs.set(sha256(index), index);
    const mediaType = "application/vnd.oci.image.index.v1+json";
    const entries = [{ mediaType, digest: sha256(index), size: index.length }];
    const from = layout(image, entries).replace(/:t$/, "");
    const isLayer = ({ digest }: { digest: string }): boolean => digest === image.layers[1]?.digest;
    await expect(readLayerFile({ from, path: "package.yaml", maxBytes: 100, isLayer })).rejects.toMatchObject({
      code: "SizeMismatch",
    });
  });
});
