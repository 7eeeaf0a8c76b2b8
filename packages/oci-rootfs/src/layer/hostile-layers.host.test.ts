import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { testImage, writeLayout } from "../../testing/layout.ts";
import { directory, file, hardlink, type RawEntry, symlink, tarball } from "../../testing/tarball.ts";
import { gnuLong, tree, unpacking } from "../../testing/unpacking.ts";
import { openStore } from "../transfer/open-store.ts";

const shared = unpacking();
const { unpack, refused } = shared;

const long = "n".repeat(300);
const deep = Array.from({ length: 5000 }, () => "d").join("/");

describe("rejected entries", () => {
  test.each<[string, RawEntry[]]>([
    ["path with ..", [file("../secret", "x")]],
    ["path with .. inside", [file("a/../../secret", "x")]],
    ["absolute path with ..", [file("/../../secret", "x")]],
    ["PAX path with ..", [{ ...file("harmless", "x"), pax: { path: "../secret" } }]],
    ["path with NUL", [{ ...file("x", "x"), pax: { path: "a\0b" } }]],
    ["hard link to an absolute path outside", [hardlink("l", "/etc/passwd")]],
    ["hard link to ..", [hardlink("l", "../secret")]],
    ["PAX link path with ..", [{ ...hardlink("l", "x"), pax: { linkpath: "../secret" } }]],
    ["hard link through a symlink chain", [symlink("a", "/"), symlink("b", "a"), hardlink("l", "b/sentinel/secret")]],
    ["hard link to nothing", [hardlink("l", "missing")]],
    ["hard link to a directory", [directory("d"), hardlink("l", "d")]],
    ["hard link to the root", [hardlink("l", ".")]],
    ["symlink loop in a parent", [symlink("a", "b"), symlink("b", "a"), file("a/x", "x")]],
    ["a file as a parent", [file("a", "x"), file("a/b", "x")]],
    ["root that is a file", [file("./", "x")]],
    ["a device as a parent", [{ name: "null", type: "3", device: [1, 3] }, file("null/x", "x")]],
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
    ["PAX size that is not a number", [{ ...file("x", "x"), pax: { size: "x" } }]],
    ["PAX header of 16 MiB", [{ name: "PaxHeader", type: "x", content: Buffer.alloc(16 * 1024 * 1024) }, file("x")]],
  ])("%s", async (_, entries) => {
    expect(await refused([entries])).toMatchObject({ code: "UnsafeLayer", layer: 0, retryable: false });
  });

  test("the error names the image, the layer and the entry", async () => {
    const error = await refused([[file("ok", "x")], [file("dir/../../x", "x")]]);
    expect(error).toMatchObject({ layer: 1, entry: "dir/../../x" });
    expect(error.image).toContain("oci:");
    expect(error.digest).toMatch(/^sha256:/);
  });

  test("an escape sequence in a name does not reach the message", async () => {
    const error = await refused([[file("\u001b[2J/../../x", "x")]]);
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

  test("directories that paths imply, unless entries for them follow", async () => {
    const limits = { maxImpliedDirectories: 3 };
    const error = await refused([[file("a/b/c/d/e", "x")]], { limits });
    expect(error).toMatchObject({ code: "UnsafeLayer" });
    expect(error.rawMessage).toContain("add entries for them");
    const after = [file("a/b/c/e", "x"), directory("a/b/c"), directory("a/b"), directory("a"), file("f/g/h", "x")];
    expect(tree(await unpack([after], { limits }))).toHaveLength(8);
  });

  test.each([
    ["files", [file("long-name"), file("long-name-2")]],
    ["whiteouts", [file(".wh.long-name"), file(".wh.long-name-2")]],
    ["opaque marks", [file("long-name/.wh..wh..opq"), file("long-name-2/.wh..wh..opq")]],
    ["implied directories", [file("a/b/c/d/e/f")]],
  ])("bytes of the paths of %s", async (_, entries) => {
    expect(await refused([entries], { limits: { maxAllPathBytes: 15 } })).toMatchObject({ code: "UnsafeLayer" });
    expect((await unpack([entries], { limits: { maxAllPathBytes: 100 } })).layers).toHaveLength(1);
  });

  test("layers", async () => {
    const layers = Array.from({ length: 4 }, (_, i) => [file(`f${i}`)]);
    expect(await refused(layers, { limits: { maxLayers: 3 } })).toMatchObject({ code: "TooLarge" });
    expect((await unpack(layers, { limits: { maxLayers: 4 } })).layers).toHaveLength(4);
  });

  test.each([
    ["entries", { maxImageEntries: 7 }],
    ["bytes", { maxImageBytes: 7 * 1024 }],
    ["paths", { maxImagePathBytes: 15 }],
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
      join(shared.box.dir, "layout"),
      testImage([tarball([file("a", noise("a")), file("b", noise("b"))])]),
    );
    const store = await openStore({ dir: shared.box.store });
    const controller = new AbortController();
    const onProgress = ({ bytes }: { bytes: number }): void => {
      if (bytes > 0) controller.abort();
    };
    const error = await store.image(name, { signal: controller.signal, onProgress }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "Aborted" });
    expect(shared.box.leftovers()).toEqual([]);
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
