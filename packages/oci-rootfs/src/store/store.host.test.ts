import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type TestImage, testImage, writeLayout } from "../../testing/layout.ts";
import { listTree, type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { directory, file, tarball } from "../../testing/tarball.ts";
import { linuxCalls } from "../layer/linux-calls.ts";
import { openStore } from "../transfer/open-store.ts";

let box: Sandbox;
let image: TestImage;
let name: string;

beforeEach(() => {
  box = sandbox();
  image = testImage([tarball([file("a", "1")]), tarball([file("b", "2")])]);
  name = writeLayout(join(box.dir, "layout"), image);
});
afterEach(() => {
  box[Symbol.dispose]();
});

describe("the store's directory", () => {
  test("is created for this user only", async () => {
    await openStore({ dir: join(box.dir, "new", "store") });
    expect(statSync(join(box.dir, "new", "store")).mode & 0o777).toBe(0o700);
  });

  test("becomes private if it was not", async () => {
    mkdirSync(box.store, { mode: 0o755 });
    await openStore({ dir: box.store });
    expect(statSync(box.store).mode & 0o777).toBe(0o700);
  });

  test("that cannot be created is StoreFailed", async () => {
    writeFileSync(join(box.dir, "file"), "");
    await expect(openStore({ dir: join(box.dir, "file", "store") })).rejects.toMatchObject({ code: "StoreFailed" });
  });

  test("has no temporary files after an image was unpacked", async () => {
    const store = await openStore({ dir: box.store });
    await store.image(name);
    expect(box.leftovers()).toEqual([]);
  });
});

describe("damaged content", () => {
  test("a layer that was removed is unpacked again from its blob, while the store is open", async () => {
    const store = await openStore({ dir: box.store });
    const first = await store.image(name);
    rmSync(join(first.layers[0] as string, ".."), { recursive: true });
    rmSync(join(box.dir, "layout", "blobs"), { recursive: true });
    mkdirSync(join(box.dir, "layout", "blobs", "sha256"), { recursive: true });
    const { digest } = image.manifest;
    writeFileSync(join(box.dir, "layout", "blobs", "sha256", digest.slice(7)), image.blobs.get(digest) as Buffer);
    const again = await store.image(name);
    expect(again.layers).toEqual(first.layers);
    expect(readFileSync(join(again.layers[0] as string, "a"), "utf8")).toBe("1");
  });

  test("a changed blob is pulled again", async () => {
    const store = await openStore({ dir: box.store });
    const first = await store.image(name);
    rmSync(join(first.layers[0] as string, ".."), { recursive: true });
    const blob = join(box.store, "blobs", "sha256", (image.layers[0]?.digest as string).slice(7));
    const bytes = readFileSync(blob);
    bytes[15] = (bytes[15] as number) ^ 1;
    writeFileSync(blob, bytes);
    const again = await store.image(name);
    expect(readFileSync(join(again.layers[0] as string, "a"), "utf8")).toBe("1");
    expect(readFileSync(blob)).toEqual(image.blobs.get(image.layers[0]?.digest as string));
  });

  test.each(["layer.json", "images", "config"])("a damaged %s is created again", async (what) => {
    const first = await (await openStore({ dir: box.store })).image(name);
    const sha = (digest: string): string => digest.slice(7);
    const path = {
      "layer.json": join(first.layers[0] as string, "..", "layer.json"),
      images: join(box.store, "images", "sha256", `${sha(image.manifest.digest)}.json`),
      config: join(box.store, "blobs", "sha256", sha(image.config.digest)),
    }[what] as string;
    writeFileSync(path, '{"half');
    if (what !== "images") rmSync(join(box.store, "images", "sha256", `${sha(image.manifest.digest)}.json`));
    const again = await (await openStore({ dir: box.store })).image(name);
    expect(again).toEqual(first);
  });

  test("a layer with a record of another version is unpacked again", async () => {
    const [root = ""] = (await (await openStore({ dir: box.store })).image(name)).layers;
    writeFileSync(join(root, "..", "layer.json"), '{"implied":[],"whiteouts":[],"overlay":true}');
    writeFileSync(join(root, "a"), "changed");
    // Its image is prepared again, like one that shares the layer.
    rmSync(join(box.store, "images", "sha256", `${image.manifest.digest.slice(7)}.json`));
    await (await openStore({ dir: box.store })).image(name);
    expect(readFileSync(join(root, "a"), "utf8")).toBe("1");
  });
});

describe("names", () => {
  test("a tag names an image, which then needs no registry", async () => {
    const store = await openStore({ dir: box.store });
    const { digest } = await store.image(name);
    store.tag("my-fn", digest);
    for (const pullPolicy of ["IfNotPresent", "Never", "Always"] as const) {
      expect(await store.image("my-fn", { pullPolicy })).toMatchObject({ name: "my-fn:latest", digest });
    }
    expect(store.list()).toEqual([{ name: "my-fn:latest", digest, built: true }]);
  });

  test("a name that another process changes or removes is seen immediately", async () => {
    const store = await openStore({ dir: box.store });
    const first = await store.image(name);
    const second = await store.image(writeLayout(join(box.dir, "other"), testImage([tarball([file("c", "3")])])));
    const other = await openStore({ dir: box.store });
    for (const { digest } of [first, second, first, second]) {
      other.tag("my-fn", digest);
      expect((await store.image("my-fn")).digest).toBe(digest);
      expect((await store.image("my-fn")).digest).toBe(digest);
    }
    rmSync(join(box.store, "names"), { recursive: true });
    await expect(store.image("my-fn", { pullPolicy: "Never" })).rejects.toMatchObject({ code: "NotFound" });
  });

  test("a digest that is not in the store cannot be tagged", async () => {
    const store = await openStore({ dir: box.store });
    expect(() => store.tag("x", `sha256:${"0".repeat(64)}`)).toThrow(expect.objectContaining({ code: "NotFound" }));
  });
});

describe("layouts", () => {
  test("a moved tag is seen immediately", async () => {
    const store = await openStore({ dir: box.store });
    const first = await store.image(name);
    const next = testImage([tarball([file("c", "3")])]);
    writeLayout(join(box.dir, "layout"), next);
    expect((await store.image(name)).digest).toBe(next.manifest.digest);
    expect((await store.image(name)).digest).not.toBe(first.digest);
  });

  test("without a tag, the only image is used, and several require a tag", async () => {
    const store = await openStore({ dir: box.store });
    const dir = join(box.dir, "layout");
    expect((await store.image(`oci:${dir}`)).digest).toBe(image.manifest.digest);
    const named = (tag: string) => ({ ...image.manifest, annotations: { "org.opencontainers.image.ref.name": tag } });
    writeLayout(dir, image, [named("one"), named("two")]);
    const error = await store.image(`oci:${dir}`).catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ code: "NotFound" });
    expect((error as Error).message).toContain("one, two");
    expect((await store.image(`oci:${dir}:two`)).digest).toBe(image.manifest.digest);
  });

  test("a directory with a colon in its name is found", async () => {
    const dir = join(box.dir, "a:b");
    writeLayout(dir, image);
    const store = await openStore({ dir: box.store });
    expect((await store.image(`oci:${dir}`)).digest).toBe(image.manifest.digest);
    expect((await store.image(`oci:${dir}:t`)).digest).toBe(image.manifest.digest);
  });

  test.each([
    ["no such directory", () => rmSync(join(box.dir, "layout"), { recursive: true }), "NotFound"],
    [
      "no such blob",
      () => rmSync(join(box.dir, "layout", "blobs", "sha256", (image.layers[0]?.digest as string).slice(7))),
      "NotFound",
    ],
    ["an index that is not JSON", () => writeFileSync(join(box.dir, "layout", "index.json"), "{"), "InvalidManifest"],
    [
      "an index beyond reason",
      () => writeFileSync(join(box.dir, "layout", "index.json"), " ".repeat(5 * 1024 * 1024)),
      "TooLarge",
    ],
    [
      "an index that is a FIFO",
      () => {
        rmSync(join(box.dir, "layout", "index.json"));
        linuxCalls().makeFifo(join(box.dir, "layout", "index.json"), 0o644);
      },
      "StoreFailed",
    ],
    [
      "a directory as a blob",
      () => {
        const path = join(box.dir, "layout", "blobs", "sha256", (image.layers[0]?.digest as string).slice(7));
        rmSync(path);
        mkdirSync(path);
      },
      "InvalidManifest",
    ],
  ] as const)("%s", async (_, damage, code) => {
    damage();
    const store = await openStore({ dir: box.store });
    await expect(store.image(name)).rejects.toMatchObject({ code });
    expect(box.leftovers()).toEqual([]);
  });
});

describe("owner", () => {
  test.runIf(process.geteuid?.() === 0)(
    "every file of a layer is given to the owner, modes and all, and kept apart from others' layers",
    async () => {
      const owned = await openStore({ dir: box.store, owner: { uid: 4242, gid: 4343 } });
      const layered = writeLayout(
        join(box.dir, "owned"),
        testImage([
          tarball([
            directory("d", 0o700),
            file("d/x", "1", 0o4750),
            { name: "l", type: "2", link: "d" },
            { name: "p", type: "6" },
            file("e/.wh.x"),
          ]),
        ]),
      );
      const mine = await owned.image(layered);
      for (const path of ["", "d", "d/x", "l", "p"]) {
        const { uid, gid } = statSync(join(mine.layers[0] as string, path));
        expect([path, uid, gid]).toEqual([path, 4242, 4343]);
      }
      expect(listTree(mine.layers[0] as string)).toContain('d/x 750 "1" 1');
      const others = await (await openStore({ dir: box.store })).image(layered);
      expect(others.layers).not.toEqual(mine.layers);
      expect(statSync(join(others.layers[0] as string, "d")).uid).toBe(0);
    },
  );

  test.runIf(process.geteuid?.() === 0)("a store of another user is refused", async () => {
    mkdirSync(box.store);
    const { chownSync } = await import("node:fs");
    chownSync(box.store, 4242, 4242);
    await expect(openStore({ dir: box.store })).rejects.toMatchObject({ code: "StoreFailed" });
  });
});

describe("several processes", () => {
  const worker = (...args: string[]) =>
    spawn(
      process.execPath,
      [join(import.meta.dirname, "../..", "testing", "pull-in-child.ts"), box.store, name, ...args],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );

  test("can unpack the same image at once", async () => {
    const children = Array.from({ length: 4 }, () => worker());
    const outputs = await Promise.all(
      children.map(async (child) => {
        let output = "";
        child.stdout.on("data", (chunk) => (output += String(chunk)));
        const [code] = await once(child, "close");
        expect(code).toBe(0);
        return output;
      }),
    );
    expect(new Set(outputs).size).toBe(1);
    expect(box.leftovers()).toEqual([]);
  });

  test("one that is killed in a layer leaves no entry, and its files are removed", async () => {
    const child = worker("--hang");
    await once(child.stdout, "data");
    expect(readdirSync(join(box.store, "tmp"))).toHaveLength(1);
    child.kill("SIGKILL");
    await once(child, "close");
    expect(readdirSync(join(box.store, "layers", "sha256"))).toEqual([]);
    const before = box.outside();
    const store = await openStore({ dir: box.store });
    expect(box.leftovers()).toEqual([]);
    expect(listTree((await store.image(name)).layers[0] as string)).toEqual(["/ 755", 'a 644 "1" 1']);
    expect(box.outside()).toBe(before);
  });

  test("temporary files of a running process are retained", async () => {
    const child = worker("--hang");
    await once(child.stdout, "data");
    await openStore({ dir: box.store });
    expect(readdirSync(join(box.store, "tmp"))).toHaveLength(1);
    child.kill("SIGKILL");
    await once(child, "close");
  });

  test("temporary files of another machine are removed by age", async () => {
    await openStore({ dir: box.store });
    const path = join(box.store, "tmp", "0badf00d.1.1.1.x");
    mkdirSync(path);
    writeFileSync(join(path, "1"), "");
    mkdirSync(join(path, "2"), { mode: 0o555 });
    await openStore({ dir: box.store });
    expect(existsSync(path)).toBe(true);
    utimesSync(path, 0, 0);
    await openStore({ dir: box.store });
    expect(existsSync(path)).toBe(false);
  });
});

test("a full disk or a read-only directory is StoreFailed and leaves no entry", async () => {
  const store = await openStore({ dir: box.store });
  const target = join(box.store, "layers", "sha256");
  rmSync(target, { recursive: true });
  // Root can write to every directory, so the obstacle is a file.
  writeFileSync(target, "");
  await expect(store.image(name)).rejects.toMatchObject({ code: "StoreFailed" });
  expect(box.leftovers()).toEqual([]);
  expect(readdirSync(join(box.store, "images", "sha256"))).toEqual([]);
  rmSync(target);
  mkdirSync(target);
  chmodSync(target, 0o711);
  expect((await store.image(name)).layers).toHaveLength(2);
});
