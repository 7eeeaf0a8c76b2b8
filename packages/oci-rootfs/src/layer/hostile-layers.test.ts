import { createHash } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listAttributes } from "../../testing/attributes.ts";
import { type TestImageOptions, testImage, writeLayout } from "../../testing/layout.ts";
import { listTree, type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { directory, file, hardlink, type RawEntry, symlink, tarball } from "../../testing/tarball.ts";
import { ImageError } from "../base/errors.ts";
import { flatten } from "../store/flatten.ts";
import { type Image, openStore } from "../store/store.ts";
import type { LayerLimits } from "./layer-limits.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
});
afterEach(() => {
  box[Symbol.dispose]();
});

/** Unpacks layers, and checks that nothing outside the store changes and nothing incomplete stays. */
async function unpack(
  layers: readonly (readonly RawEntry[] | Buffer)[],
  options: TestImageOptions & { limits?: Partial<LayerLimits> } = {},
): Promise<Image> {
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
}

const tree = (image: Image, layer = 0): string[] => listTree(image.layers[layer] as string);

async function refused(layers: readonly (readonly RawEntry[] | Buffer)[], options = {}): Promise<ImageError> {
  const error = await unpack(layers, options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ImageError);
  return error as ImageError;
}

/** The header that GNU tar writes before an entry with a long name (L) or link target (K). */
const gnuLong = (type: "K" | "L", name: string): RawEntry => ({ name: "././@LongLink", type, content: `${name}\0` });

const long = "n".repeat(300);
const deep = Array.from({ length: 5000 }, () => "d").join("/");

const root = process.geteuid?.() === 0;

describe("rejected entries", () => {
  test.each<[string, RawEntry[]]>([
    ["path with ..", [file("../secret", "x")]],
    ["path with .. inside", [file("a/../../secret", "x")]],
    ["absolute path with ..", [file("/../../secret", "x")]],
    ["PAX path with ..", [{ ...file("harmless", "x"), pax: { path: "../secret" } }]],
    ["path with NUL", [{ ...file("x", "x"), pax: { path: "a\0b" } }]],
    ["hard link to an absolute path", [file("x", "1"), hardlink("l", "/x")]],
    [
      "hard link through a symlink, even to a file of its own layer",
      [file("d/x", "1"), symlink("s", "d"), hardlink("l", "s/x")],
    ],
    ["hard link to ..", [hardlink("l", "../secret")]],
    ["PAX link path with ..", [{ ...hardlink("l", "x"), pax: { linkpath: "../secret" } }]],
    ["hard link through a symlink chain", [symlink("a", "/"), symlink("b", "a"), hardlink("l", "b/sentinel/secret")]],
    ["hard link to nothing", [hardlink("l", "missing")]],
    ["hard link to a directory", [directory("d"), hardlink("l", "d")]],
    ["hard link to the root", [hardlink("l", ".")]],
    ["symlink loop in a parent", [symlink("a", "b"), symlink("b", "a"), file("a/x", "x")]],
    ["a file as a parent", [file("a", "x"), file("a/b", "x")]],
    ["root that is a file", [file("./", "x")]],
    ["character device", [{ name: "null", type: "3", device: [1, 3] }]],
    ["the whiteout device itself", [{ name: "w", type: "3", device: [0, 0] }]],
    ["block device", [{ name: "sda", type: "4", device: [8, 0] }]],
    ["whiteout of nothing", [file(".wh.")]],
    ["whiteout of .", [file(".wh..")]],
    ["whiteout of .. (the reference deletes the parent of its root)", [file(".wh...")]],
    ["whiteout of .. in a directory", [file("a/.wh...")]],
    ["a directory with a whiteout's name", [file(".wh.a/b", "x")]],
    [
      "GNU sparse by PAX",
      [
        {
          ...file("GNUSparseFile.0/x", "x"),
          pax: { "GNU.sparse.major": "1", "GNU.sparse.realsize": "9223372036854775807" },
        },
      ],
    ],
    ["GNU sparse by type", [{ name: "x", type: "S", size: 8 }]],
    ["size of 8 EiB", [{ ...file("x"), size: 2 ** 62 }]],
    ["negative size", [{ ...file("x"), size: -1 }]],
    ["name of 300 bytes", [{ ...file("x"), pax: { path: long } }]],
    ["depth of 5,000", [{ ...file("x"), pax: { path: deep } }]],
    ["link target of 5,000 bytes", [{ ...symlink("l", "x"), pax: { linkpath: "a".repeat(5000) } }]],
    ["link without a target", [symlink("l", "")]],
    ["unknown entry type", [{ name: "x", type: "Z" }]],
    ["GNU long name with ..", [gnuLong("L", "../secret"), file("harmless", "x")]],
    ["GNU long link name with ..", [file("x", "1"), gnuLong("K", "../secret"), hardlink("l", "x")]],
    [
      "a path that links make endless",
      [{ ...symlink("l", "x"), pax: { linkpath: `${"./".repeat(2000)}d` } }, directory("d"), file("l/x", "x")],
    ],
    ["PAX size that is no number", [{ ...file("x", "x"), pax: { size: "x" } }]],
    ["PAX header of 16 MiB", [{ name: "PaxHeader", type: "x", content: Buffer.alloc(16 * 1024 * 1024) }, file("x")]],
  ])("%s", async (_, entries) => {
    expect(await refused([entries])).toMatchObject({ code: "UnsafeLayer", layer: 0, retryable: false });
  });

  test("the error names the image, the layer and the entry", async () => {
    const error = await refused([[file("ok", "x")], [file("dir/../x", "x")]]);
    expect(error).toMatchObject({ layer: 1, entry: "dir/../x" });
    expect(error.image).toContain("oci:");
    expect(error.digest).toMatch(/^sha256:/);
  });

  test("an escape sequence in a name does not reach the message", async () => {
    const error = await refused([[file("\u001b[2J/../x", "x")]]);
    expect(error.message).not.toContain("\u001b");
  });

  test("after a rejection the next valid image is unpacked", async () => {
    await refused([[file("../x", "x")]]);
    expect(tree(await unpack([[file("x", "1")]]))).toContain('x 644 "1" 1');
  });
});

describe("limits", () => {
  const many = (count: number): RawEntry[] => Array.from({ length: count }, (_, i) => file(`f${i}`));

  test("entries", async () => {
    expect(await refused([many(11)], { limits: { maxEntries: 10 } })).toMatchObject({ code: "UnsafeLayer" });
    expect(tree(await unpack([many(10)], { limits: { maxEntries: 10 } }))).toHaveLength(11);
  });

  test("entries without a file", async () => {
    const entries = Array.from({ length: 11 }, (_, i) => file(`.wh.${i}`));
    expect(await refused([entries], { limits: { maxEntries: 10 } })).toMatchObject({ code: "UnsafeLayer" });
  });

  test("implied directories count as entries", async () => {
    const entries = Array.from({ length: 4 }, (_, i) => file(`${i}/a/b/c`));
    expect(await refused([entries], { limits: { maxEntries: 10 } })).toMatchObject({ code: "UnsafeLayer" });
  });

  test("bytes", async () => {
    expect(await refused([[file("x", "x".repeat(5000))]], { limits: { maxBytes: 4096 } })).toMatchObject({
      code: "UnsafeLayer",
    });
  });

  test("ten gigabytes of zeros in ten megabytes are rejected before they are written", async () => {
    const header = tarball([{ ...file("zeros"), size: 10 * 1024 ** 3 }]).subarray(0, 512);
    // Concatenated gzip members: 160 times the same 64 MiB.
    const zeros = gzipSync(Buffer.alloc(64 * 1024 ** 2), { level: 9 });
    const bomb = Buffer.concat([gzipSync(header), ...Array.from({ length: 160 }, () => zeros)]);
    expect(bomb.length).toBeLessThan(12 * 1024 ** 2);
    expect(await refused([bomb], { pack: (packed: Buffer) => packed })).toMatchObject({
      code: "UnsafeLayer",
      layer: 0,
    });
  });

  test("a million entries", async () => {
    const some = gzipSync(tarball(Array.from({ length: 10_000 }, () => directory("d"))).subarray(0, -1024));
    const bomb = Buffer.concat(Array.from({ length: 100 }, () => some));
    const limits = { ratioGraceBytes: 1024 ** 3 };
    const error = await refused([bomb], { pack: (packed: Buffer) => packed, limits });
    expect(error).toMatchObject({ code: "UnsafeLayer", layer: 0 });
    expect(error.rawMessage).toContain("entries");
  });

  test("layers", async () => {
    const layers = Array.from({ length: 4 }, (_, i) => [file(`f${i}`)]);
    expect(await refused(layers, { limits: { maxLayers: 3 } })).toMatchObject({ code: "TooLarge" });
    expect((await unpack(layers, { limits: { maxLayers: 4 } })).layers).toHaveLength(4);
  });

  test.each([
    ["entries", { maxImageEntries: 7 }],
    ["bytes", { maxImageBytes: 7 * 1024 }],
  ])("%s of all layers together", async (_, limits) => {
    const layers = Array.from({ length: 4 }, (_, i) => [file(`a${i}`), file(`b${i}`)]);
    expect(await refused(layers, { limits })).toMatchObject({ code: "UnsafeLayer" });
  });

  test("ratio of a gzip bomb", async () => {
    const limits = { maxRatio: 100, ratioGraceBytes: 1024 * 1024 };
    expect(await refused([[file("x", Buffer.alloc(8 * 1024 * 1024))]], { limits })).toMatchObject({
      code: "UnsafeLayer",
    });
  });

  test("links cannot exceed the maximum depth of a path", async () => {
    const deep = Array.from({ length: 200 }, () => "d").join("/");
    const entries = [
      { ...directory("d"), pax: { path: `${deep}/` } },
      { ...symlink("l", "x"), pax: { linkpath: deep } },
      { ...file("x"), pax: { path: `l/${deep}/x` } },
    ];
    expect(await refused([entries])).toMatchObject({ code: "UnsafeLayer" });
  });

  test("links cannot exceed the maximum length of a path", async () => {
    const parts = Array.from({ length: 10 }, () => "p".repeat(200));
    const base = parts.join("/");
    const entries = [
      { ...directory("d"), pax: { path: `${base}/` } },
      { ...symlink("l", "x"), pax: { linkpath: base } },
      { ...file("x"), pax: { path: `l/${base}/x` } },
    ];
    expect(await refused([entries])).toMatchObject({ code: "UnsafeLayer" });
  });
});

describe("layers large enough for a worker thread", () => {
  // Random content, which does not compress.
  const noise = (seed: string): Buffer =>
    createHash("shake256", { outputLength: 3 * 1024 * 1024 })
      .update(seed)
      .digest();

  test.each<[string, (archive: Buffer) => Buffer]>([
    ["gzip", (archive) => gzipSync(archive, { level: 1 })],
    ["zstd", (archive) => zstdCompressSync(archive)],
    ["nothing", (archive) => archive],
  ])("packed with %s, are unpacked completely", async (_, pack) => {
    const small = Array.from({ length: 300 }, (_, i) => file(`d/${i}`, `${i}`.repeat(i)));
    const image = await unpack(
      [
        [file("a", noise("a")), ...small],
        [file("b", noise("b")), file(".wh.a")],
      ],
      { pack },
    );
    for (const [i, name] of ["a", "b"].entries())
      expect(readFileSync(join(image.layers[i] as string, name)).equals(noise(name))).toBe(true);
    for (const i of [0, 7, 299])
      expect(readFileSync(join(image.layers[0] as string, `d/${i}`), "latin1")).toBe(`${i}`.repeat(i));
  });

  test("are rejected with the same error, and leave nothing", async () => {
    const error = await refused([[file("ok", noise("a"))], [file("b", noise("b")), file("../secret", "x")]]);
    expect(error).toMatchObject({ code: "UnsafeLayer", layer: 1, entry: "../secret", retryable: false });
    expect(error.image).toContain("oci:");
    expect(error.digest).toMatch(/^sha256:/);
  });

  test("are unpacked for their position if they are not correct alone", async () => {
    const image = await unpack([
      [symlink("lib", "usr/lib"), file("usr/lib/x", "1")],
      [file("lib/a", noise("a")), file("lib/.wh.x")],
    ]);
    expect(tree(image, 1)).toContain("usr/lib/x 0 device 0");
    expect(readFileSync(join(image.layers[1] as string, "usr/lib/a")).equals(noise("a"))).toBe(true);
  });

  test("stop when the caller aborts", async () => {
    const name = writeLayout(
      join(box.dir, "layout"),
      testImage([tarball([file("a", noise("a")), file("b", noise("b"))])]),
    );
    const store = await openStore({ dir: box.store });
    const controller = new AbortController();
    const onProgress = ({ bytes }: { bytes: number }): void => {
      if (bytes > 0) controller.abort();
    };
    const error = await store.image(name, { signal: controller.signal, onProgress }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "Aborted" });
    expect(box.leftovers()).toEqual([]);
  });
});

describe("broken archives", () => {
  test("truncated in a file", async () => {
    const whole = tarball([file("x", "x".repeat(5000))]);
    expect(await refused([whole.subarray(0, 2000)])).toMatchObject({ code: "UnsafeLayer" });
  });

  test("not an archive", async () => {
    expect(await refused([Buffer.alloc(2048, "z")])).toMatchObject({ code: "UnsafeLayer" });
  });

  test("directory whose header claims content", async () => {
    const image = await unpack([[{ ...directory("d"), size: 0 }, file("d/x", "1")]]);
    expect(tree(image)).toContain('d/x 644 "1" 1');
    expect(
      await refused([
        [
          { ...directory("d"), size: 1000 },
          { name: "junk", type: "Z" },
        ],
      ]),
    ).toMatchObject({ code: "UnsafeLayer" });
  });

  test("wrong diffID", async () => {
    const diffIds = [`sha256:${"0".repeat(64)}`];
    expect(await refused([[file("x", "1")]], { diffIds })).toMatchObject({ code: "DigestMismatch", layer: 0 });
  });
});

describe("contained entries", () => {
  test("absolute paths are below the root", async () => {
    expect(tree(await unpack([[file("/etc/x", "1")]]))).toContain('etc/x 644 "1" 1');
  });

  test("a child through a symlink to an absolute directory stays inside the root", async () => {
    const image = await unpack([[symlink("out", "/etc"), file("out/x", "1")]]);
    expect(tree(image)).toEqual(["/ 755", "etc/ 755", 'etc/x 644 "1" 1', "out -> /etc"]);
  });

  test("a child through a symlink with .. stays inside the root", async () => {
    const image = await unpack([[directory("a"), symlink("a/up", "../../../../.."), file("a/up/secret", "1")]]);
    expect(tree(image)).toContain('secret 644 "1" 1');
  });

  test("a file replaces a symlink instead of being written through it", async () => {
    const target = join(box.dir, "secret");
    const image = await unpack([[symlink("x", target), file("x", "1")]]);
    expect(tree(image)).toContain('x 644 "1" 1');
  });

  test("an empty file replaces a symlink too", async () => {
    const image = await unpack([[symlink("x", join(box.dir, "secret")), file("x", "")]]);
    expect(tree(image)).toContain('x 644 "" 0');
  });

  test("a directory entry does not change a symlink's target", async () => {
    const image = await unpack([
      [symlink("x", join(box.dir, "sentinel")), directory("x", 0o700), file("x/secret", "1")],
    ]);
    expect(tree(image)).toEqual(["/ 755", "x/ 700", 'x/secret 644 "1" 1']);
  });

  test("a hard link to a symlink links the link", async () => {
    const image = await unpack([[symlink("l", join(box.dir, "secret")), hardlink("m", "l")]]);
    expect(tree(image)).toContain(`m -> ${join(box.dir, "secret")}`);
  });

  test("setuid, setgid and the sticky bit of files are dropped, and directories retain the sticky bit", async () => {
    const image = await unpack([[file("s", "x", 0o6755), directory("tmp", 0o3777), file("t", "x", 0o1755)]]);
    expect(tree(image)).toEqual(["/ 755", 's 755 "x" 1', 't 755 "x" 1', "tmp/ 1777"]);
  });

  test("the root has the archive's mode, without setuid and setgid", async () => {
    expect(tree(await unpack([[directory(".", 0o6711)]]))).toEqual(["/ 711"]);
  });

  test("extended attributes are not set", async () => {
    const pax = {
      "SCHILY.xattr.user.overlay.opaque": "y",
      "SCHILY.xattr.security.capability": "x",
      "SCHILY.xattr.trusted.overlay.redirect": "/",
    };
    const image = await unpack([
      [
        { ...directory("d"), pax },
        { ...file("f", "x"), pax },
      ],
    ]);
    for (const path of ["d", "f"]) expect(listAttributes(join(image.layers[0] as string, path))).toEqual([]);
    // `overlay.opaque` would hide lower layers. The record has only the marks of the unpacker.
    const record = JSON.parse(readFileSync(join(image.layers[0] as string, "..", "layer.json"), "utf8"));
    expect(record.opaque).toEqual([]);
  });

  test("the archive's owners are ignored", async () => {
    const image = await unpack([[file("x", "1")]]);
    const { uid, gid } = lstatSync(join(image.layers[0] as string, "x"));
    expect([uid, gid]).toEqual([process.geteuid?.(), process.getegid?.()]);
  });

  test("a FIFO is created without blocking", async () => {
    const image = await unpack([[{ name: "pipe", type: "6", mode: 0o622 }]]);
    expect(tree(image)).toContain("pipe 622 fifo");
  });

  test("of duplicates the last wins", async () => {
    const entries = [
      file("x", "1"),
      file("x", "22", 0o600),
      directory("d"),
      file("d/y", "y"),
      file("d", "3"),
      file("e", "4"),
      directory("e"),
    ];
    expect(tree(await unpack([entries]))).toEqual(["/ 755", 'd 644 "3" 1', "e/ 755", 'x 600 "22" 2']);
  });

  test("a duplicate of a hard-linked name does not change the other name", async () => {
    expect(tree(await unpack([[file("a", "1"), hardlink("b", "a"), file("b", "2")]]))).toContain('a 644 "1" 1');
  });

  test("a hard link to itself changes nothing", async () => {
    expect(tree(await unpack([[file("a", "1"), hardlink("a", "a")]]))).toContain('a 644 "1" 1');
  });

  test("names that differ in case or normal form stay distinct, and bytes that are not UTF-8 survive", async () => {
    const raw = Buffer.from([0x66, 0xff, 0xfe]);
    const image = await unpack([
      [file("a", "1"), file("A", "2"), file("\u00e9", "3"), file("e\u0301", "4"), { name: raw, content: "5" }],
    ]);
    expect(tree(image)).toHaveLength(6);
    expect(lstatSync(Buffer.concat([Buffer.from(`${image.layers[0]}/`), raw])).size).toBe(1);
    expect(lstatSync(join(image.layers[0] as string, "e\u0301")).size).toBe(1);
  });

  test("directories without permissions can contain files, and can be removed", async () => {
    const image = await unpack([[directory("d", 0o555), file("d/x", "1", 0o400), directory("n", 0), file("n/x", "1")]]);
    // An ordinary user could not copy them otherwise.
    expect(lstatSync(join(image.layers[0] as string, "n")).mode & 0o777).toBe(root ? 0 : 0o500);
    expect(await refused([[directory("d", 0o500), file("d/x", "1"), file("../x", "1")]])).toMatchObject({
      code: "UnsafeLayer",
    });
  });

  test("a file without read permission can be copied", async () => {
    const image = await unpack([[file("etc/shadow", "secret", 0)]]);
    const destination = join(box.dir, "store", "flat");
    flatten(image.layers, destination);
    expect(listTree(destination)).toContain(`etc/shadow ${root ? "0" : "400"} "secret" 6`);
  });

  test("names of over 100 bytes, in the PAX and GNU formats", async () => {
    const name = `${"d".repeat(120)}/${"f".repeat(200)}`;
    const pax = { ...file("short", "1"), pax: { path: name } };
    const link = { ...symlink("link", "short"), pax: { linkpath: name } };
    const gnu = [gnuLong("L", `${name}2`), file("short", "2"), gnuLong("K", name), symlink("gnu-link", "short")];
    const lines = tree(await unpack([[pax, link, ...gnu]]));
    expect(lines).toContain(`${name} 644 "1" 1`);
    expect(lines).toContain(`link -> ${name}`);
    expect(lines).toContain(`${name}2 644 "2" 1`);
    expect(lines).toContain(`gnu-link -> ${name}`);
  });

  test("a global PAX header names no file", async () => {
    const image = await unpack([[{ name: "g", type: "g", content: "18 path=../secret\n" }, file("harmless", "x")]]);
    expect(tree(image)).toEqual(["/ 755", 'harmless 644 "x" 1']);
  });

  test("invalid times are clamped", async () => {
    const entries = [
      { ...file("a", "1"), pax: { mtime: "1e300" } },
      { ...file("b", "1"), pax: { mtime: "-5" } },
      { ...file("c", "1"), pax: { mtime: "never" } },
    ];
    expect(tree(await unpack([entries]))).toHaveLength(4);
  });

  test("times are preserved, including PAX fractions", async () => {
    const image = await unpack([[{ ...file("a", "1"), pax: { mtime: "1234567890.5" } }]]);
    expect(lstatSync(join(image.layers[0] as string, "a")).mtimeMs).toBe(1_234_567_890_500);
  });

  test.each<[string, (archive: Buffer) => Buffer]>([
    ["gzip", (archive) => gzipSync(archive)],
    [
      "gzip of two members",
      (archive) => Buffer.concat([gzipSync(archive.subarray(0, 700)), gzipSync(archive.subarray(700))]),
    ],
    ["zstd", (archive) => zstdCompressSync(archive)],
    ["nothing", (archive) => archive],
  ])("packed with %s, with any media type", async (_, pack) => {
    expect(tree(await unpack([[file("x", "1".repeat(5000))]], { pack }))).toHaveLength(2);
  });

  test.each([
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
  ])("layers of type %s", async (layerType) => {
    expect(tree(await unpack([[file("x", "1")]], { layerType }))).toContain('x 644 "1" 1');
  });

  test("a layer of an unknown type is rejected", async () => {
    expect(await refused([[file("x")]], { layerType: "application/x-tar" })).toMatchObject({ code: "Unsupported" });
  });

  test("internal files of AUFS are omitted", async () => {
    expect(
      tree(
        await unpack([
          [directory(".wh..wh.plnk"), file(".wh..wh.plnk/1.2", "x"), file(".wh..wh.aufs"), file("x", "1")],
        ]),
      ),
    ).toHaveLength(2);
  });
});
