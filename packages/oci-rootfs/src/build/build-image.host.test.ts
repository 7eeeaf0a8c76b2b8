import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testImage, writeLayout } from "../../testing/layout.ts";
import { listTree, type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { directory, file, symlink, tarball } from "../../testing/tarball.ts";
import { parsePlatform } from "../image/platform.ts";
import { flatten } from "../store/flatten.ts";
import { readImageFile, readImageManifest } from "../store/read-image.ts";
import type { Store } from "../store/store.ts";
import { openStore } from "../transfer/open-store.ts";
import { type BuildOptions, buildImage, buildIndex, type ImageSpec } from "./build-image.ts";
import type { BuildEntry } from "./build-layer.ts";

let box: Sandbox;
let store: Store;
beforeEach(async () => {
  box = sandbox();
  store = await openStore({ dir: box.store });
});
afterEach(() => {
  box[Symbol.dispose]();
});

const ENTRIES: BuildEntry[] = [
  { path: "/fn/run.sh", content: "#!/bin/sh\ncat\n", mode: 0o755 },
  { path: "fn/data/\u00fc", content: new Uint8Array([1, 2]) },
  { path: "fn/link", link: "run.sh" },
  { path: "empty", directory: true, mode: 0o700 },
  { path: `long/${"n".repeat(150)}/${"m".repeat(120)}`, content: "x" },
];

function build(options: Partial<BuildOptions> = {}) {
  return buildImage({
    store,
    name: "fn",
    layers: [{ entries: ENTRIES }],
    config: { entrypoint: ["/fn/run.sh"] },
    ...options,
  });
}

describe("an image", () => {
  test("has the given files, and is found by its name", async () => {
    const built = await build();
    const image = await store.image("fn");
    expect(image.digest).toBe(built.digest);
    expect(built.name).toBe("fn:latest");
    expect(listTree(image.layers[0] as string)).toEqual([
      "/ 755",
      "empty/ 700",
      "fn/ 755",
      "fn/data/ 755",
      'fn/data/\u00c3\u00bc 644 "\\u0001\\u0002" 2',
      "fn/link -> run.sh",
      'fn/run.sh 755 "#!/bin/sh\\ncat\\n" 14',
      "long/ 755",
      `long/${"n".repeat(150)}/ 755`,
      `long/${"n".repeat(150)}/${"m".repeat(120)} 644 "x" 1`,
    ]);
    expect(box.leftovers()).toEqual([]);
  });

  test("has the same digest for the same input, in any order and for any target", async () => {
    const source = join(box.dir, "run.sh");
    writeFileSync(source, "#!/bin/sh\ncat\n");
    const { digest } = await build();
    const entries = ENTRIES.toReversed().map((entry) =>
      "content" in entry && entry.path === "/fn/run.sh" ? { path: entry.path, mode: 0o755, source } : entry,
    );
    expect((await build({ name: "other", layers: [{ entries }] })).digest).toBe(digest);
    expect((await build({ name: `oci:${join(box.dir, "out")}:v1` })).digest).toBe(digest);
  });

  test("has the same digest on every machine", async () => {
    // Uncompressed layers do not depend on zlib. A change here changes the digest of every image that users have built.
    const built = await build({
      layers: [{ entries: ENTRIES, compression: "none" }],
      platform: { os: "linux", architecture: "amd64" },
    });
    expect(built.digest).toMatchInlineSnapshot(
      `"sha256:02e0492d810a23690deec05733664db301afe457826a276602ea5d9bbd01dc99"`,
    );
  });

  test("is added to a layout, and can be read from there", async () => {
    const dir = join(box.dir, "out");
    const one = await build({ name: `oci:${dir}:one` });
    const two = await build({ name: `oci:${dir}:two`, config: { entrypoint: ["/two"] } });
    const oneAgain = await build({ name: `oci:${dir}:one`, config: { entrypoint: ["/three"] } });
    const fresh = await openStore({ dir: join(box.dir, "store2") });
    expect((await fresh.image(`oci:${dir}:two`)).digest).toBe(two.digest);
    expect((await fresh.image(`oci:${dir}:one`)).digest).toBe(oneAgain.digest);
    expect(oneAgain.digest).not.toBe(one.digest);
    expect(readdirSync(dir).sort()).toEqual(["blobs", "index.json", "oci-layout"]);
    expect(readdirSync(join(dir, "blobs"))).toEqual(["sha256"]);
  });

  test("annotates its layers", async () => {
    const { layers } = await build({ layers: [{ entries: ENTRIES, annotations: { "io.crossplane.xpkg": "base" } }] });
    expect(layers[0]?.annotations).toEqual({ "io.crossplane.xpkg": "base" });
  });
});

describe("on a base", () => {
  async function base() {
    const archive = tarball([
      directory("usr"),
      directory("usr/lib"),
      symlink("lib", "usr/lib"),
      file("usr/lib/a", "1"),
    ]);
    const config = { Env: ["A=1", "B=1"], Cmd: ["/old"], User: "7", WorkingDir: "/old", Labels: { l: "1" } };
    return store.image(writeLayout(join(box.dir, "base"), testImage([archive], { config })));
  }

  test("adds layers, and retains what the config does not replace", async () => {
    await build({ base: await base(), config: { env: { B: "2", C: "3" }, labels: { m: "2" } } });
    const image = await store.image("fn");
    expect(image.layers).toHaveLength(2);
    expect(image.config.config).toEqual({
      Env: ["A=1", "B=2", "C=3"],
      Cmd: ["/old"],
      User: "7",
      WorkingDir: "/old",
      Labels: { l: "1", m: "2" },
    });
  });

  test("an entrypoint replaces the base's command", async () => {
    await build({ base: await base(), config: { entrypoint: ["/new"] } });
    const { config } = (await store.image("fn")).config;
    expect(config).toMatchObject({ Entrypoint: ["/new"] });
    expect(config).not.toHaveProperty("Cmd");
  });

  test("does not replace the base's links by directories", async () => {
    await build({ base: await base(), layers: [{ entries: [{ path: "lib/b", content: "2" }] }] });
    const destination = join(box.dir, "flat");
    flatten((await store.image("fn")).layers, destination);
    expect(readFileSync(join(destination, "usr/lib/b"), "utf8")).toBe("2");
    expect(readFileSync(join(destination, "lib/a"), "utf8")).toBe("1");
  });

  test("a layout is complete without the store", async () => {
    const dir = join(box.dir, "out");
    await build({ name: `oci:${dir}`, base: await base() });
    const fresh = await openStore({ dir: join(box.dir, "store2") });
    expect((await fresh.image(`oci:${dir}`)).layers).toHaveLength(2);
  });
});

describe("rejected", () => {
  test.each<[string, BuildEntry[]]>([
    ["a path that leads out", [{ path: "../x", content: "" }]],
    ["no path", [{ path: "/", content: "" }]],
    ["a whiteout's name", [{ path: "a/.wh.b", content: "" }]],
    ["NUL", [{ path: "a\0b", content: "" }]],
    ["setuid", [{ path: "a", content: "", mode: 0o4755 }]],
    [
      "two files of one name",
      [
        { path: "a", content: "" },
        { path: "/a", content: "" },
      ],
    ],
    ["a source that does not exist", [{ path: "a", source: "/nowhere/at/all" }]],
    ["a source that is a directory", [{ path: "a", source: "/" }]],
  ])("%s", async (_, entries) => {
    await expect(build({ layers: [{ entries }] })).rejects.toMatchObject({ code: "BuildFailed", layer: 0 });
    expect(box.leftovers()).toEqual([]);
    expect(store.list()).toEqual([]);
  });

  test("neither layers nor a base", async () => {
    await expect(build({ layers: [] })).rejects.toMatchObject({ code: "BuildFailed" });
  });
});

describe("an index", () => {
  const AMD64 = parsePlatform("linux/amd64");
  const ARM64 = parsePlatform("linux/arm64");
  const code = { entries: [{ path: "fn", content: "code" }] };
  const spec = (platform: typeof AMD64, base: string): ImageSpec => ({
    platform,
    layers: [{ entries: [{ path: "base", content: base }] }, code],
    config: { entrypoint: ["/fn"] },
  });

  test("has an image for each platform, found by its platform", async () => {
    const built = await buildIndex({ store, name: "fn", images: [spec(AMD64, "a"), spec(ARM64, "b")] });
    expect(built.images.map(({ platform }) => platform)).toEqual([AMD64, ARM64]);
    for (const [i, platform] of [AMD64, ARM64].entries()) {
      const image = await store.image("fn", { platform });
      expect(image.digest).toBe(built.images[i]?.digest);
      expect(image.config).toMatchObject(platform);
      expect(readImageFile(image.layers, "/base", 10)?.toString()).toBe("ab"[i]);
    }
    await expect(store.image("fn", { platform: parsePlatform("linux/s390x") })).rejects.toMatchObject({
      code: "WrongPlatform",
    });
  });

  test("contains shared layers once, and is reproducible, in a layout too", async () => {
    const images = [spec(AMD64, "a"), spec(ARM64, "b")];
    const name = `oci:${join(box.dir, "out")}:v1`;
    const first = await buildIndex({ store, name: "fn", images });
    expect((await buildIndex({ store, name, images })).digest).toBe(first.digest);
    const layers = await Promise.all(
      [AMD64, ARM64].map(async (platform) => readImageManifest(store, await store.image(name, { platform })).layers),
    );
    expect(layers[0]?.[0]).not.toEqual(layers[1]?.[0]);
    expect(layers[0]?.[1]).toEqual(layers[1]?.[1]);
    expect(box.leftovers()).toEqual([]);
  });

  test("uses the base of each platform", async () => {
    await buildIndex({ store, name: "base", images: [spec(AMD64, "a"), spec(ARM64, "b")] });
    const images = await Promise.all(
      [AMD64, ARM64].map(async (platform) => ({
        base: await store.image("base", { platform }),
        layers: [{ entries: [{ path: "more", content: "x" }] }],
      })),
    );
    const { images: made } = await buildIndex({ store, name: "fn", images });
    expect(made.map(({ platform }) => platform)).toEqual([AMD64, ARM64]);
    const image = await store.image("fn", { platform: ARM64 });
    expect(readImageFile(image.layers, "base", 10)?.toString()).toBe("b");
  });

  test("with two images for one platform, or none, is rejected", async () => {
    const twice = buildIndex({ store, name: "fn", images: [spec(AMD64, "a"), spec(AMD64, "b")] });
    await expect(twice).rejects.toMatchObject({ code: "BuildFailed", image: "fn" });
    await expect(buildIndex({ store, name: "fn", images: [] })).rejects.toMatchObject({ code: "BuildFailed" });
    expect(store.list()).toEqual([]);
  });
});

describe("annotations and labels", () => {
  test("are in the manifest and the config, sorted", async () => {
    const one = await build({ annotations: { b: "2", a: "1" }, config: { labels: { d: "4", c: "3" } } });
    const two = await build({ annotations: { a: "1", b: "2" }, config: { labels: { c: "3", d: "4" } } });
    expect(one.digest).toBe(two.digest);
    const image = await store.image("fn");
    expect(readImageManifest(store, image).annotations).toEqual({ a: "1", b: "2" });
    expect(image.config.config?.Labels).toEqual({ c: "3", d: "4" });
  });

  test("can name the built layers", async () => {
    const { layers } = await build({
      config: (built) => ({ labels: Object.fromEntries(built.map(({ digest }) => [digest, "mine"])) }),
    });
    expect((await store.image("fn")).config.config?.Labels).toEqual({ [layers[0]?.digest ?? ""]: "mine" });
  });
});
