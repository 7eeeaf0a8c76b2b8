import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HOST, sha256 } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { directory, file, hardlink, type RawEntry, symlink, tarball } from "../../testing/tarball.ts";
import { buildImage } from "../build/build-image.ts";
import { parsePlatform } from "../image/platform.ts";
import { linuxCalls } from "../layer/linux-calls.ts";
import { readImageFile, readImageManifest } from "../store/read-image.ts";
import type { Image, Store } from "../store/store.ts";
import { openStore } from "../transfer/open-store.ts";
import { type ReadArchiveOptions, readArchive } from "./read-archive.ts";
import { writeArchive } from "./write-archive.ts";

let box: Sandbox;
let store: Store;
let path: string;
let layout: string;
beforeEach(async () => {
  box = sandbox();
  store = await openStore({ dir: box.store });
  path = join(box.dir, "image.tar");
  layout = `oci:${join(box.dir, "layout")}`;
});
afterEach(() => {
  box[Symbol.dispose]();
});

const LAYERS = [tarball([file("a", "one")]), tarball([file("b", "two")])];

interface Contents {
  layers?: readonly RawEntry[];
  list?: unknown;
  config?: object;
  more?: readonly RawEntry[];
}

/** An archive like those of `docker save`, with uncompressed layers. */
function archive({ layers, list, config, more = [] }: Contents = {}): string {
  const text = JSON.stringify({
    ...HOST,
    config: { Entrypoint: ["/a"], Labels: { first: sha256(gzipSync(LAYERS[0] as Buffer)) } },
    rootfs: { type: "layers", diff_ids: LAYERS.map(sha256) },
    ...config,
  });
  const files = layers ?? LAYERS.map((layer, i) => file(`${i}/layer.tar`, layer));
  const names = files.map(({ name }) => name);
  const entries = [
    file("config.json", text),
    ...files,
    ...more,
    file("manifest.json", JSON.stringify(list ?? [{ Config: "config.json", RepoTags: ["fn:v1"], Layers: names }])),
  ];
  writeFileSync(path, tarball(entries));
  return path;
}

async function read(options: Partial<ReadArchiveOptions> = {}): Promise<Image> {
  await readArchive({ paths: [path], to: layout, ...options });
  return store.image(layout);
}

/** Unexpected files: reading an archive must leave only blobs. */
function leftovers(): string[] {
  return readdirSync(join(box.dir, "layout", "blobs")).filter((name) => name !== "sha256");
}

const content = (image: Image, name: string): string | undefined => readImageFile(image.layers, name, 100)?.toString();

describe("an archive that is read", () => {
  test("becomes an image with the same config and files", async () => {
    archive();
    const image = await read();
    expect(image.config.config?.Entrypoint).toEqual(["/a"]);
    expect([content(image, "a"), content(image, "b")]).toEqual(["one", "two"]);
    expect(leftovers()).toEqual([]);
  });

  test.each([
    ["gzip", gzipSync, "gzip"],
    ["zstd", zstdCompressSync, "zstd"],
    ["nothing", (bytes: Buffer) => bytes, "gzip"],
  ])("may have layers compressed with %s", async (_, pack, stored) => {
    archive({ layers: LAYERS.map((layer, i) => file(`${i}.tar`, pack(layer))) });
    const image = await read();
    expect(content(image, "b")).toBe("two");
    for (const { mediaType } of readImageManifest(store, image).layers) expect(mediaType).toMatch(`+${stored}`);
  });

  test("may contain layers as links to others, like old archives", async () => {
    const twice = {
      rootfs: { type: "layers", diff_ids: [LAYERS[0], LAYERS[0]].map((layer) => sha256(layer as Buffer)) },
    };
    const layers = [file("x/layer.tar", LAYERS[0]), symlink("y/layer.tar", "../x/layer.tar")];
    archive({ layers, config: twice });
    expect(content(await read(), "a")).toBe("one");
    archive({ layers: [file("x/layer.tar", LAYERS[0]), hardlink("y", "x/layer.tar")], config: twice });
    expect(content(await read(), "a")).toBe("one");
  });

  test("may have names that are not ASCII", async () => {
    archive({ layers: LAYERS.map((layer, i) => file(`schön ${i}.tar`, layer)) });
    expect(content(await read(), "b")).toBe("two");
  });

  test("gets annotations of the manifest and the layers", async () => {
    archive({ layers: LAYERS.map((layer, i) => file(`${i}.tar.gz`, gzipSync(layer))) });
    const image = await read({
      annotations: { b: "2", a: "1" },
      layerAnnotations: ({ config }, { digest }) =>
        config?.Labels?.["first"] === digest ? { "io.crossplane.xpkg": "base" } : undefined,
    });
    const { layers, annotations } = readImageManifest(store, image);
    expect(annotations).toEqual({ a: "1", b: "2" });
    expect(layers.map((layer) => layer.annotations)).toEqual([{ "io.crossplane.xpkg": "base" }, undefined]);
  });

  test("with others for other platforms becomes an index", async () => {
    const paths = ["amd64", "arm64"].map((architecture) => {
      path = join(box.dir, `${architecture}.tar`);
      return archive({ config: { os: "linux", architecture } });
    });
    const { digest } = await readArchive({ paths, to: layout });
    for (const platform of ["linux/amd64", "linux/arm64"].map(parsePlatform)) {
      const image = await store.image(layout, { platform });
      expect(image.config).toMatchObject(platform);
      expect(image.digest).not.toBe(digest);
    }
    const twice = readArchive({ paths: [paths[0] ?? "", paths[0] ?? ""], to: layout });
    await expect(twice).rejects.toMatchObject({ code: "InvalidManifest" });
  });
});

describe("an archive that is written", () => {
  const write = async (compression: "gzip" | "none"): Promise<Buffer> => {
    const entries = [{ path: "fn", content: "code" }];
    await buildImage({
      store,
      name: `${layout}:${compression}`,
      layers: [{ entries, compression }, { entries: [{ path: "more", content: "x" }] }],
      config: { entrypoint: ["/fn"] },
    });
    await writeArchive({ from: `${layout}:${compression}`, path });
    return readFileSync(path);
  };

  test.each(["gzip", "none"] as const)("can be read again: %s", async (compression) => {
    await write(compression);
    await readArchive({ paths: [path], to: `${layout}:again` });
    const image = await store.image(`${layout}:again`);
    expect(content(image, "fn")).toBe("code");
    expect(image.config.config?.Entrypoint).toEqual(["/fn"]);
    expect(readdirSync(box.dir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test("has the same bytes for the same image", async () => {
    expect((await write("gzip")).equals(await write("gzip"))).toBe(true);
  });

  test("that cannot be written is named, and not its layout", async () => {
    await write("gzip");
    const missing = join(box.dir, "none", "image.tar");
    const failure = writeArchive({ from: `${layout}:gzip`, path: missing });
    await expect(failure).rejects.toMatchObject({ code: "StoreFailed", message: `cannot write ${missing}: ENOENT` });
  });

  test("replaces an older one only when it is complete", async () => {
    writeFileSync(path, "older");
    await expect(writeArchive({ from: `${layout}:none`, path })).rejects.toMatchObject({ code: "NotFound" });
    expect(readFileSync(path, "utf8")).toBe("older");
    expect(readdirSync(box.dir).filter((name) => name.includes(".tmp"))).toEqual([]);
  });
});

describe("a hostile archive", () => {
  const refused = async (code: string): Promise<void> => {
    const before = readdirSync(box.dir, { recursive: true }).filter((name) => !String(name).startsWith("layout"));
    await expect(readArchive({ paths: [path], to: layout })).rejects.toMatchObject({ code, image: path });
    expect(leftovers()).toEqual([]);
    expect(readdirSync(box.dir, { recursive: true }).filter((name) => !String(name).startsWith("layout"))).toEqual(
      before,
    );
  };

  test("cannot write to its paths", async () => {
    const away = ["../../escaped", "/tmp/escaped", "layout/blobs/sha256/escaped", "../layout/index.json"];
    archive({ more: away.map((name) => file(name, "x")) });
    const before = readdirSync(box.dir);
    await read();
    expect(readdirSync(box.dir).toSorted()).toEqual([...before, "layout"].toSorted());
    expect(readdirSync(join(box.dir, "layout/blobs/sha256"))).not.toContain("escaped");
  });

  test("cannot name files outside itself", async () => {
    writeFileSync(join(box.dir, "secret"), LAYERS[0] as Buffer);
    const names = ["../secret", join(box.dir, "secret")];
    for (const name of names) {
      const list = [{ Config: "config.json", Layers: [name, "1/layer.tar"] }];
      archive({ list });
      await refused("InvalidManifest");
      archive({ list, more: [symlink(name, join(box.dir, "secret"))] });
      await refused("InvalidManifest");
    }
  });

  test("with layers that do not match its config", async () => {
    archive({ layers: [file("0", LAYERS[1]), file("1", LAYERS[0])] });
    await refused("DigestMismatch");
    archive({ layers: [file("0", gzipSync(LAYERS[1] as Buffer)), file("1", LAYERS[0])] });
    await refused("DigestMismatch");
  });

  test.each<[string, RawEntry[]]>([
    ["two files", [file("config.json", "{}")]],
    ["two spellings of a file", [file("./config.json", "{}")]],
    ["an absolute spelling of a file", [file("/config.json", "{}")]],
    ["a spelling outside of a file", [file("../config.json", "{}")]],
    ["a file and a link", [symlink("config.json", "0/layer.tar")]],
    ["a file and a hard link", [hardlink("config.json", "0/layer.tar")]],
    ["a file and a directory", [directory("config.json")]],
    ["a file and a FIFO", [{ name: "config.json", type: "6" }]],
    ["two links", [symlink("a", "0/layer.tar"), symlink("a", "1/layer.tar")]],
    ["a link and a directory of files", [symlink("0", "1")]],
    ["a link and a directory of a later file", [symlink("a", "0"), file("a/layer.tar", "")]],
    ["a file and a directory of a file", [file("a", ""), file("a/b", "")]],
  ])("that gives one name to %s", async (_, more) => {
    archive({ more });
    await refused("InvalidManifest");
  });

  test("cannot print control characters of its names", async () => {
    const escape = "\u009b31m\u202e\u001b]0;x";
    archive({ more: [file(`a${escape}`, ""), file(`a${escape}`, "")] });
    const printed = /[\u0000-\u001f\u007f-\u009f\u202e]/;
    await expect(read()).rejects.not.toMatchObject({ message: expect.stringMatching(printed) });
    archive({ list: [{ Config: `a${escape}`, Layers: [] }] });
    await expect(read()).rejects.not.toMatchObject({ message: expect.stringMatching(printed) });
  });

  test("with a bomb as a layer is refused before the bomb is unpacked", async () => {
    const bomb = zstdCompressSync(Buffer.alloc(300 * 1024 * 1024));
    archive({ layers: [file("0", bomb), file("1", LAYERS[1])] });
    await refused("UnsafeLayer");
  });

  test.each([
    ["no images", []],
    [
      "two images",
      Array.from({ length: 2 }, () => ({ Config: "config.json", Layers: ["0/layer.tar", "1/layer.tar"] })),
    ],
    ["no list", { Config: "config.json" }],
    ["no config", [{ Layers: [] }]],
    ["layers that are not names", [{ Config: "config.json", Layers: [1] }]],
    ["fewer layers than its configuration", [{ Config: "config.json", Layers: ["0/layer.tar"] }]],
    ["a link to itself", [{ Config: "loop", Layers: [] }]],
  ])("with %s", async (_, list) => {
    archive({ list, more: [symlink("loop", "loop")] });
    await refused("InvalidManifest");
  });

  test("of too many entries", async () => {
    archive({ more: Array.from({ length: 5000 }, (_, i) => file(`f${i}`)) });
    await refused("InvalidManifest");
  });

  test("that is truncated, or not an archive", async () => {
    const whole = readFileSync(archive());
    writeFileSync(path, whole.subarray(0, 1700));
    await refused("UnsafeLayer");
    writeFileSync(path, "no archive at all, but long enough to be one".repeat(50));
    await refused("UnsafeLayer");
    writeFileSync(path, tarball([file("index.json", "{}")]));
    await refused("InvalidManifest");
  });

  test("that is a FIFO or a directory does not hang", async () => {
    linuxCalls().makeFifo(path, 0o600);
    await refused("InvalidManifest");
    path = join(box.dir, "folder");
    mkdirSync(path);
    await refused("InvalidManifest");
    path = join(box.dir, "absent");
    await refused("NotFound");
  });
});
