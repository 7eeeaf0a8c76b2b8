import { lstatSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { listAttributes } from "../../testing/attributes.ts";
import { listTree } from "../../testing/sandbox.ts";
import { directory, file, hardlink, symlink } from "../../testing/tarball.ts";
import { gnuLong, tree, unpacking } from "../../testing/unpacking.ts";
import { flatten } from "../store/flatten.ts";

const shared = unpacking();
const { unpack, refused } = shared;

const root = process.geteuid?.() === 0;

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
    const target = join(shared.box.dir, "secret");
    const image = await unpack([[symlink("x", target), file("x", "1")]]);
    expect(tree(image)).toContain('x 644 "1" 1');
  });

  test("an empty file replaces a symlink too", async () => {
    const image = await unpack([[symlink("x", join(shared.box.dir, "secret")), file("x", "")]]);
    expect(tree(image)).toContain('x 644 "" 0');
  });

  test("a directory entry does not change a symlink's target", async () => {
    const image = await unpack([
      [symlink("x", join(shared.box.dir, "sentinel")), directory("x", 0o700), file("x/secret", "1")],
    ]);
    expect(tree(image)).toEqual(["/ 755", "x/ 700", 'x/secret 644 "1" 1']);
  });

  test("a hard link to a symlink links the link", async () => {
    const image = await unpack([[symlink("l", join(shared.box.dir, "secret")), hardlink("m", "l")]]);
    expect(tree(image)).toContain(`m -> ${join(shared.box.dir, "secret")}`);
  });

  test("a path with .. that stays in the layer is cleaned, even if the layer has a link there", async () => {
    const image = await unpack([[symlink("s", "/a/b/c"), file("s/../x", "1"), file("/./d/e/../y", "2")]]);
    expect(tree(image)).toEqual(["/ 755", "d/ 755", 'd/y 644 "2" 1', "s -> /a/b/c", 'x 644 "1" 1']);
  });

  test.each([
    ["an absolute path", "/d/x"],
    ["a path of the current directory", "./d//./x"],
    ["a path out of the root", "../../d/x"],
    ["an absolute path out of the root", "/../d/x"],
    ["a path with .. after what is missing", "no/such/../../d/x"],
    ["a path with .. after a link, which it ignores", "up/../d/x"],
    ["a path through a link", "s/x"],
    ["a path through an absolute link", "t/x"],
    ["a path through links that leave the root", "up/up/d/x"],
  ])("a hard link to %s links the file in the layer", async (_, target) => {
    const links = [symlink("s", "d"), symlink("t", "/d"), symlink("up", "../../..")];
    for (const layers of [
      [[file("d/x", "1"), ...links, hardlink("l", target)]],
      [[file("d/x", "1"), ...links], [hardlink("l", target)]],
      [[file("d/x", "1")], [...links, hardlink("l", target)]],
    ]) {
      const image = await unpack(layers);
      const destination = join(shared.box.dir, "store", `flat-${layers.length}-${layers[0]?.length}`);
      flatten(image.layers, destination);
      const [linked, named] = ["l", "d/x"].map((path) => lstatSync(join(destination, path)));
      expect(linked?.ino).toBe(named?.ino);
      rmSync(destination, { recursive: true });
    }
  });

  test.each([
    ["character device", "3", [1, 3]],
    ["block device", "4", [8, 0]],
    ["whiteout of overlayfs", "3", [0, 0]],
  ] as const)("a %s becomes an empty file, which may have another name", async (_, type, [major, minor]) => {
    const entry = { name: "dev/x", type, mode: 0o660, size: 5, device: [major, minor] as [number, number] };
    const image = await unpack([[entry, hardlink("y", "dev/x"), file("z", "1")]]);
    expect(tree(image)).toEqual(["/ 755", "dev/ 755", 'dev/x 660 "" 0', 'y 660 "" 0', 'z 644 "1" 1']);
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

  test("an image says whether it may contain a FIFO", async () => {
    expect((await unpack([[file("x", "1")]])).fifos).toBe(false);
    expect((await unpack([[file("x", "1")], [{ name: "pipe", type: "6", mode: 0o622 }]])).fifos).toBe(true);
  });

  test("an image with a layer that another version recorded may contain a FIFO", async () => {
    const { digest, layers } = await unpack([[file("x", "1")]]);
    const record = join(layers[0] as string, "..", "layer.json");
    writeFileSync(record, readFileSync(record, "utf8").replace(/,"fifos":false/, ""));
    rmSync(join(shared.box.store, "images/sha256", `${digest.slice(7)}.json`));
    expect((await unpack([[file("x", "1")]])).fifos).toBe(true);
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
    const destination = join(shared.box.dir, "store", "flat");
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
