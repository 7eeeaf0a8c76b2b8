import { lstatSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testImage, writeLayout } from "../../testing/layout.ts";
import { listTree, type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { directory, file, hardlink, type RawEntry, symlink, tarball } from "../../testing/tarball.ts";
import type { LayerPaths, LayerRecord } from "../layer/layer-record.ts";
import { openStore } from "../transfer/open-store.ts";
import { flatten } from "./flatten.ts";
import type { Image } from "./store.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
});
afterEach(() => {
  box[Symbol.dispose]();
});

let count = 0;

async function unpack(...layers: RawEntry[][]): Promise<Image> {
  count += 1;
  const name = writeLayout(join(box.dir, `layout${count}`), testImage(layers.map((layer) => tarball(layer))));
  const store = await openStore({ dir: box.store });
  return store.image(name);
}

/** The files that a container would see, without the root. */
function seen(image: Image): string[] {
  count += 1;
  const destination = join(box.dir, `flat${count}`);
  flatten(image.layers, destination);
  return listTree(destination).slice(1);
}

const lines = (image: Image, layer: number): string[] => listTree(image.layers[layer] as string).slice(1);
const read = (image: Image, layer: number, name: string): object =>
  JSON.parse(readFileSync(join(image.layers[layer] as string, "..", name), "utf8"));
const record = (image: Image, layer: number): LayerRecord & LayerPaths =>
  ({ ...read(image, layer, "layer.json"), ...read(image, layer, "paths.json") }) as LayerRecord & LayerPaths;

describe("whiteouts", () => {
  test("a whiteout is a device of overlayfs, and deletes the lower file", async () => {
    const image = await unpack([file("a/x", "1"), file("a/y", "2")], [file("a/.wh.x")]);
    const device = lstatSync(join(image.layers[1] as string, "a/x"));
    expect([device.isCharacterDevice(), device.rdev]).toEqual([true, 0]);
    expect(seen(image)).toEqual(["a/ 755", 'a/y 644 "2" 1']);
  });

  test("a whiteout of a directory deletes everything in it", async () => {
    const image = await unpack([file("a/b/x", "1"), file("c", "2")], [file(".wh.a")]);
    expect(seen(image)).toEqual(['c 644 "2" 1']);
  });

  test.each([
    ["before", [file(".wh.a"), directory("a"), file("a/new", "2")]],
    ["after", [directory("a"), file("a/new", "2"), file(".wh.a")]],
  ])("a directory of the same layer, with the whiteout %s it, is new", async (_, layer) => {
    const image = await unpack([file("a/old", "1")], layer);
    expect(record(image, 1).opaque).toEqual(["a"]);
    expect(seen(image)).toEqual(["a/ 755", 'a/new 644 "2" 1']);
  });

  test("a file of the same layer stays", async () => {
    expect(seen(await unpack([file("a", "1")], [file("a", "2"), file(".wh.a")]))).toEqual(['a 644 "2" 1']);
  });

  test.each([
    ["before", [file("a/.wh..wh..opq"), file("a/new", "2")]],
    ["after", [file("a/new", "2"), file("a/.wh..wh..opq")]],
  ])("an opaque mark %s files of its layer hides lower files and retains them", async (_, layer) => {
    const image = await unpack([file("a/old", "1"), file("a/sub/old", "1"), file("b", "1")], layer);
    expect(seen(image)).toEqual(["a/ 755", 'a/new 644 "2" 1', 'b 644 "1" 1']);
  });

  test("an opaque root hides all lower layers, which are omitted", async () => {
    const image = await unpack([file("a", "1")], [file("b", "1")], [file(".wh..wh..opq"), file("c", "2")]);
    expect(image.layers).toHaveLength(1);
    expect(seen(image)).toEqual(['c 644 "2" 1']);
  });

  test("a root that is opaque through a lower link hides all lower layers, which are omitted", async () => {
    const image = await unpack([symlink("up", "/"), file("a", "1")], [file("up/.wh..wh..opq"), file("c", "2")]);
    expect(image.layers).toHaveLength(1);
    expect(seen(image)).toEqual(['c 644 "2" 1']);
  });

  test("a whiteout that deletes nothing creates no device, because overlayfs would show it", async () => {
    const image = await unpack([file("a/x", "1")], [file("a/.wh.missing"), file("b/.wh.missing"), file("c", "1")]);
    expect(lines(image, 1)).toEqual(['c 644 "1" 1']);
    expect(seen(image)).toEqual(["a/ 755", 'a/x 644 "1" 1', 'c 644 "1" 1']);
  });

  test("an opaque mark that hides nothing creates no directory, nor does a whiteout below it", async () => {
    const image = await unpack([file("a/x", "1")], [file("b/.wh..wh..opq"), file("a/.wh..wh..opq"), file("a/c/.wh.d")]);
    expect(seen(image)).toEqual(["a/ 755"]);
  });

  test("a directory of the same layer is opaque even after its files", async () => {
    const image = await unpack([symlink("a", "b"), file("b/x", "1")], [file("a/y", "2"), file("a/.wh..wh..opq")]);
    expect(seen(image)).toEqual(["a -> b", "b/ 755", 'b/y 644 "2" 1']);
  });

  test("a whiteout in the lowest layer does nothing", async () => {
    expect(seen(await unpack([file(".wh.x"), file("a", "1")]))).toEqual(['a 644 "1" 1']);
  });

  test("a file deleted in one layer can return in the next", async () => {
    const image = await unpack([file("a/x", "1")], [file("a/.wh.x")], [file("a/x", "3")]);
    expect(seen(image)).toEqual(["a/ 755", 'a/x 644 "3" 1']);
  });

  test("a whiteout through a lower link deletes the file in the link's target", async () => {
    const image = await unpack(
      [symlink("lib", "usr/lib"), file("usr/lib/x", "1"), file("usr/lib/y", "1")],
      [file("lib/.wh.x")],
    );
    expect(seen(image)).toEqual(["lib -> usr/lib", "usr/ 755", "usr/lib/ 755", 'usr/lib/y 644 "1" 1']);
  });

  test("more whiteouts than single lookups, over several layers", async () => {
    const names = Array.from({ length: 100 }, (_, i) => `d/${i}`);
    const lower = names.map((name) => file(name, "1"));
    const kept = ["d/x"].map((name) => file(name, "2"));
    const gone = names.map((name) => file(name.replace("/", "/.wh.")));
    const image = await unpack(lower.slice(0, 60), lower.slice(50), kept, [...gone, file("d/.wh.missing")]);
    expect(image.layers).toHaveLength(4);
    expect(seen(image)).toEqual(["d/ 755", 'd/x 644 "2" 1']);
  });

  test("a whiteout or mark below a path that its layer replaces by a file has no effect", async () => {
    const image = await unpack([file("a/b/x", "1")], [file("a/b/.wh.x"), file("a/b/.wh..wh..opq"), file("a", "2")]);
    expect(seen(image)).toEqual(['a 644 "2" 1']);
  });

  test("a directory that its layer deletes and marks is gone", async () => {
    const image = await unpack([file("a/b/x", "1")], [file("a/b/.wh..wh..opq"), file("a/.wh.b")]);
    expect(seen(image)).toEqual(["a/ 755"]);
  });

  test.each([
    ["deleted", [file("a/x", "2"), file(".wh.a")], "755"],
    ["marked", [file("a/x", "2"), file("a/.wh..wh..opq")], "700"],
  ])("a directory that is %s and implied again", async (_, layer, mode) => {
    const image = await unpack([directory("a", 0o700), file("a/old", "1")], layer);
    expect(seen(image)).toEqual([`a/ ${mode}`, 'a/x 644 "2" 1']);
  });

  test("whiteouts apply to earlier entries, also if the layer is unpacked for its position", async () => {
    const lower = [directory("a", 0o700), file("a/old", "1"), symlink("lib", "usr/lib"), file("usr/lib/x", "1")];
    const image = await unpack(lower, [file("a/x", "2"), file("lib/y", "2"), file(".wh.a")]);
    expect(seen(image)).toEqual([
      "a/ 755",
      'a/x 644 "2" 1',
      "lib -> usr/lib",
      "usr/ 755",
      "usr/lib/ 755",
      'usr/lib/x 644 "1" 1',
      'usr/lib/y 644 "2" 1',
    ]);
  });

  test("a directory that replaces a file of the same layer is new", async () => {
    const image = await unpack([file("a/old", "1")], [file("a", "2"), directory("a"), file("a/new", "3")]);
    expect(seen(image)).toEqual(["a/ 755", 'a/new 644 "3" 1']);
  });

  test("a whiteout of a link deletes the link, not its target", async () => {
    const image = await unpack([symlink("lib", "usr/lib"), file("usr/lib/x", "1")], [file(".wh.lib")]);
    expect(seen(image)).toEqual(["usr/ 755", "usr/lib/ 755", 'usr/lib/x 644 "1" 1']);
  });
});

describe("links between layers", () => {
  test("a file below a lower link is in the link's target", async () => {
    const image = await unpack([symlink("lib", "usr/lib"), file("usr/lib/a", "1")], [file("lib/b", "2")]);
    expect(lines(image, 1)).toEqual(["usr/ 755", "usr/lib/ 755", 'usr/lib/b 644 "2" 1']);
    expect(seen(image)).toEqual([
      "lib -> usr/lib",
      "usr/ 755",
      "usr/lib/ 755",
      'usr/lib/a 644 "1" 1',
      'usr/lib/b 644 "2" 1',
    ]);
  });

  test("a lower link to an absolute path is followed inside the root", async () => {
    const image = await unpack([symlink("out", join(box.dir, "sentinel"))], [file("out/secret", "2")]);
    expect(readFileSync(join(box.dir, "sentinel", "secret"), "utf8")).toBe("untouched");
    expect(seen(image)).toContainEqual(expect.stringContaining('/sentinel/secret 644 "2" 1'));
  });

  test("the same layer is unpacked again for another base", async () => {
    const top = [file("lib/b", "2")];
    const merged = await unpack([symlink("lib", "usr/lib")], top);
    const plain = await unpack([directory("lib")], top);
    expect(lines(merged, 1)).toContain('usr/lib/b 644 "2" 1');
    expect(lines(plain, 1)).toEqual(["lib/ 755", 'lib/b 644 "2" 1']);
  });

  test("a directory entry replaces a lower link", async () => {
    const image = await unpack(
      [symlink("lib", "usr/lib"), file("usr/lib/a", "1")],
      [directory("lib"), file("lib/b", "2")],
    );
    expect(seen(image)).toEqual(["lib/ 755", 'lib/b 644 "2" 1', "usr/ 755", "usr/lib/ 755", 'usr/lib/a 644 "1" 1']);
  });

  test("a link that a middle layer replaces by a directory is not followed", async () => {
    const image = await unpack([symlink("d", join(box.dir, "sentinel"))], [directory("d")], [file("d/secret", "3")]);
    expect(readFileSync(join(box.dir, "sentinel", "secret"), "utf8")).toBe("untouched");
    expect(seen(image)).toEqual(["d/ 755", 'd/secret 644 "3" 1']);
  });

  test("a lower link with a target that is too long does not resolve", async () => {
    const lower = [{ ...symlink("l", "x"), pax: { linkpath: "n".repeat(300) } }, symlink("lib", "usr/lib")];
    await expect(unpack(lower, [file("lib/x", "1"), file("l/.wh.x")])).resolves.toBeDefined();
    await expect(unpack(lower, [file("lib/x", "1"), file("l/x", "2")])).rejects.toMatchObject({ code: "UnsafeLayer" });
  });

  test("a chain of links over several layers", async () => {
    const image = await unpack(
      [symlink("a", "b")],
      [symlink("b", "c/d")],
      [directory("c"), directory("c/d")],
      [file("a/x", "4")],
    );
    expect(seen(image)).toContain('c/d/x 644 "4" 1');
  });

  test("a hard link to a file of a lower layer has its content and mode", async () => {
    const image = await unpack([file("bin/a", "1", 0o755)], [hardlink("bin/b", "bin/a")]);
    expect(seen(image)).toEqual(["bin/ 755", 'bin/a 755 "1" 1', 'bin/b 755 "1" 1']);
  });

  test("a hard link to a lower file through a lower link", async () => {
    const image = await unpack([symlink("lib", "usr/lib"), file("usr/lib/a", "1")], [hardlink("lib/b", "lib/a")]);
    expect(seen(image)).toContain('usr/lib/b 644 "1" 1');
  });

  test("a hard link to a lower symlink or FIFO links the symlink or FIFO itself", async () => {
    const lower = [symlink("a", "/etc/passwd"), { name: "p", type: "6", mode: 0o640 }];
    const image = await unpack(lower, [hardlink("l", "a"), hardlink("q", "p")]);
    expect(seen(image)).toEqual(["a -> /etc/passwd", "l -> /etc/passwd", "p 640 fifo", "q 640 fifo"]);
  });

  test("a hard link that replaces the directory of its target is rejected", async () => {
    await expect(unpack([file("a/x", "1"), hardlink("a", "a/x")])).rejects.toMatchObject({ code: "UnsafeLayer" });
  });

  test.each([
    ["missing below", [file("a", "1")], [hardlink("l", "gone")]],
    ["deleted in its own layer", [file("a", "1")], [file(".wh.a"), hardlink("l", "a")]],
    ["a directory below", [directory("a")], [hardlink("l", "a")]],
  ])("a hard link to something %s is rejected", async (_, lower, upper) => {
    await expect(unpack(lower, upper)).rejects.toMatchObject({ code: "UnsafeLayer", layer: 1 });
  });
});

describe("directories", () => {
  test("an implied directory does not hide the lower mode", async () => {
    const image = await unpack([directory("tmp", 0o1777), directory("usr")], [file("tmp/x", "1"), file("usr/x", "1")]);
    expect(statSync(join(image.layers[1] as string, "tmp")).mode & 0o7777).toBe(0o1777);
    expect(seen(image)).toEqual(["tmp/ 1777", 'tmp/x 644 "1" 1', "usr/ 755", 'usr/x 644 "1" 1']);
  });

  test("an explicit directory gives the merged one its mode", async () => {
    expect(seen(await unpack([directory("d", 0o700), file("d/x", "1")], [directory("d", 0o750)]))).toEqual([
      "d/ 750",
      'd/x 644 "1" 1',
    ]);
  });

  test("a directory replaces a lower file, and vice versa", async () => {
    const image = await unpack([file("a", "1"), file("b/x", "1")], [file("a/x", "2"), file("b", "2")]);
    expect(seen(image)).toEqual(["a/ 755", 'a/x 644 "2" 1', 'b 644 "2" 1']);
  });
});

test("a layer that occurs twice is listed once, at its upper position", async () => {
  const twice = [file("x", "1")];
  const image = await unpack(twice, [file("x", "2"), file("y", "2")], twice);
  expect(image.layers).toHaveLength(2);
  expect(seen(image)).toEqual(['x 644 "1" 1', 'y 644 "2" 1']);
});

test("flatten does not follow a link that an omitted layer would have replaced", async () => {
  // The third layer deletes a file in a directory. The second layer, which recurs, has replaced the link by it.
  const recurring = [directory("d"), file("d/secret", "1")];
  const image = await unpack([symlink("d", join(box.dir, "sentinel"))], recurring, [file("d/.wh.secret")], recurring);
  seen(image);
  expect(readFileSync(join(box.dir, "sentinel", "secret"), "utf8")).toBe("untouched");
});

test("flatten preserves hard links between layers, and to the remaining names", async () => {
  const image = await unpack(
    [file("a", "1"), hardlink("b", "a"), symlink("s", "a"), hardlink("t", "s")],
    [file("a", "2"), hardlink("c", "b")],
  );
  count += 1;
  const destination = join(box.dir, `flat${count}`);
  flatten(image.layers, destination);
  const inode = (path: string): number => lstatSync(join(destination, path)).ino;
  expect(inode("c")).toBe(inode("b"));
  expect(inode("t")).toBe(inode("s"));
  expect(inode("a")).not.toBe(inode("b"));
  expect(readFileSync(join(destination, "c"), "utf8")).toBe("1");
});

test("flatten sets the mode of a FIFO with any umask", async () => {
  expect(seen(await unpack([{ name: "pipe", type: "6", mode: 0o666 }]))).toEqual(["pipe 666 fifo"]);
});

test("flatten preserves hard links, and does not modify the layers", async () => {
  const image = await unpack([file("a", "1"), hardlink("b", "a"), { name: "pipe", type: "6", mode: 0o600 }]);
  const before = listTree(image.layers[0] as string);
  count += 1;
  const destination = join(box.dir, `flat${count}`);
  flatten(image.layers, destination);
  expect(statSync(join(destination, "a")).ino).toBe(statSync(join(destination, "b")).ino);
  expect(statSync(join(destination, "a")).ino).not.toBe(statSync(join(image.layers[0] as string, "a")).ino);
  expect(listTree(destination)).toContain("pipe 600 fifo");
  expect(listTree(image.layers[0] as string)).toEqual(before);
});
