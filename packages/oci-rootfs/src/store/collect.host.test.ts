import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type TestImage, testImage, writeLayout } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import { openStore } from "../transfer/open-store.ts";
import { Leases } from "./leases.ts";
import type { Store } from "./store.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
});
afterEach(() => {
  box[Symbol.dispose]();
});

const DAY_MS = 24 * 60 * 60 * 1000;
const base = tarball([file("base", "b".repeat(5000))]);

/** Adds an image on the common base to the store, last used this many days ago. */
async function put(name: string, daysAgo: number, own = name): Promise<TestImage> {
  const image = testImage([base, tarball([file(own, "x".repeat(2000))])]);
  const store = await openStore({ dir: box.store });
  const layout = writeLayout(join(box.dir, `layout-${own}`), image);
  const { digest } = await store.image(layout);
  store.tag(name, digest);
  store.release(digest);
  age(digest, daysAgo);
  return image;
}

function age(digest: string, days: number): void {
  const when = new Date(Date.now() - days * DAY_MS);
  utimesSync(join(box.store, "images", "sha256", `${digest.slice(7)}.json`), when, when);
}

const folders = (what: string): number => readdirSync(join(box.store, what, "sha256")).length;
const openAgain = (): Promise<Store> => openStore({ dir: box.store });

describe("images", () => {
  test("are listed with names, sizes, last use and whether a process uses them", async () => {
    const image = await put("a", 3);
    const store = await openAgain();
    const [listed] = store.images();
    const blobs = [...image.blobs.values()].reduce((sum, { length }) => sum + length, 0);
    expect(listed).toMatchObject({ name: "a:latest", digest: image.manifest.digest, built: true, inUse: false });
    // Two archives, each with an end of one kilobyte.
    expect(listed?.bytes).toBeGreaterThan(blobs + 7000);
    expect(Math.round((Date.now() - (listed?.lastUsed.getTime() ?? 0)) / DAY_MS)).toBe(3);
    await store.image("a");
    expect(store.images()[0]).toMatchObject({ inUse: true });
    expect(Date.now() - (store.images()[0]?.lastUsed.getTime() ?? 0)).toBeLessThan(DAY_MS);
  });

  test("are removed with everything that only they need", async () => {
    await put("a", 1);
    await put("b", 1);
    const store = await openAgain();
    expect([folders("layers"), folders("blobs"), folders("images")]).toEqual([3, 7, 2]);
    const result = store.remove("a");
    expect(result).toMatchObject({ images: ["a:latest"], entries: 4 });
    expect(result.bytes).toBeGreaterThan(2000);
    expect([folders("layers"), folders("blobs"), folders("images")]).toEqual([2, 4, 1]);
    expect(box.leftovers()).toEqual([]);
    const kept = await store.image("b");
    expect(readFileSync(join(kept.layers[0] as string, "base"), "utf8")).toHaveLength(5000);
    await expect(store.image("a", { pullPolicy: "Never" })).rejects.toMatchObject({ code: "NotFound" });
  });

  test("of an unknown name cannot be removed", async () => {
    const store = await openAgain();
    expect(() => store.remove("nothing")).toThrow(expect.objectContaining({ code: "NotFound" }));
  });

  test("with another name are retained", async () => {
    const image = await put("a", 1);
    const store = await openAgain();
    store.tag("again", image.manifest.digest);
    expect(store.remove("a")).toMatchObject({ entries: 0, bytes: 0 });
    expect((await store.image("again")).layers).toHaveLength(2);
  });

  test("that this process uses are not removed before their release", async () => {
    await put("a", 1);
    const store = await openAgain();
    const { digest } = await store.image("a");
    expect(() => store.remove("a")).toThrow(expect.objectContaining({ code: "InUse", retryable: true }));
    store.release(digest);
    expect(store.remove("a").images).toEqual(["a:latest"]);
  });
});

describe("collection", () => {
  test("without options removes images without a name", async () => {
    await put("a", 1);
    await put("a", 1, "newer");
    const store = await openAgain();
    expect(store.images()).toHaveLength(2);
    expect(store.prune({ dryRun: true }).images).toHaveLength(1);
    expect(folders("layers")).toBe(3);
    expect(store.prune()).toMatchObject({ entries: 4, inUse: [] });
    expect(store.images().map(({ name }) => name)).toEqual(["a:latest"]);
    expect((await store.image("a")).layers).toHaveLength(2);
  });

  test("by age removes unused images, and built ones only on request", async () => {
    await put("old", 40);
    await put("new", 2);
    const store = await openAgain();
    expect(store.prune({ olderThanMs: 30 * DAY_MS })).toMatchObject({ images: [] });
    expect(store.prune({ olderThanMs: 30 * DAY_MS, built: true })).toMatchObject({ images: ["old:latest"] });
    expect(store.images().map(({ name }) => name)).toEqual(["new:latest"]);
  });

  test("by size removes the least recently used images, and no more than necessary", async () => {
    await put("one", 3);
    await put("two", 2);
    await put("three", 1);
    const store = await openAgain();
    const total = store.prune({ maxBytes: 0, built: true, dryRun: true }).bytes;
    expect(store.prune({ maxBytes: total - 1, built: true }).images).toEqual(["one:latest"]);
    expect(store.prune({ maxBytes: 0, built: true }).images).toEqual(["three:latest", "two:latest"]);
    expect([folders("layers"), folders("blobs"), folders("images")]).toEqual([0, 0, 0]);
  });

  test("retains recent blobs and layers without an image", async () => {
    const store = await openAgain();
    const fresh = join(box.store, "blobs", "sha256", "a".repeat(64));
    const stale = join(box.store, "blobs", "sha256", "b".repeat(64));
    for (const path of [fresh, stale]) writeFileSync(path, "x");
    utimesSync(stale, 0, 0);
    expect(store.prune()).toMatchObject({ entries: 1, bytes: 1 });
    expect([existsSync(fresh), existsSync(stale)]).toEqual([true, false]);
  });

  test("retains what another process uses, until that is killed", async () => {
    await put("a", 40);
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, "../..", "testing", "use-in-child.ts"), box.store, "a"],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    await once(child.stdout, "data");
    age((await openAgain()).images()[0]?.digest as string, 40);
    const store = await openAgain();
    const options = { olderThanMs: DAY_MS, built: true };
    expect(store.prune(options)).toMatchObject({ images: [], inUse: ["a:latest"], entries: 0 });
    expect(() => store.remove("a")).toThrow(expect.objectContaining({ code: "InUse" }));
    child.kill("SIGKILL");
    await once(child, "close");
    expect(store.prune(options)).toMatchObject({ images: ["a:latest"], inUse: [] });
  });

  test("completes the work of a killed collector", async () => {
    await put("a", 1);
    const lock = join(box.store, "collecting");
    symlinkSync("0badf00d.1.1.1.x", lock);
    lutimesSync(lock, 0, 0);
    const store = await openAgain();
    expect((await store.image("a")).layers).toHaveLength(2);
    expect(readdirSync(box.store)).not.toContain("collecting");
  });

  test("retains layers that an image in preparation shares with another", async () => {
    await put("a", 1);
    const leases = new Leases(box.store);
    const key = readdirSync(join(box.store, "layers", "sha256"))[0] as string;
    leases.acquire(`layer ${key}`);
    const store = await openAgain();
    store.remove("a");
    expect(readdirSync(join(box.store, "layers", "sha256"))).toEqual([key]);
    leases.release(`layer ${key}`);
  });

  test("does not keep records of released leases forever", () => {
    const leases = new Leases(box.store);
    const size = (): number =>
      statSync(join(box.store, "leases", readdirSync(join(box.store, "leases"))[0] as string)).size;
    leases.acquire("image a", "image b");
    const before = size();
    leases.release("image a");
    expect(new Leases(box.store).collect((inUse) => [...inUse])).toEqual(["image b"]);
    leases.release("image b");
    expect(new Leases(box.store).collect((inUse) => [...inUse])).toEqual([]);
    leases.acquire("image b");
    expect(size()).toBeLessThan(before);
    expect(new Leases(box.store).collect((inUse) => [...inUse])).toEqual(["image b"]);
    leases.release("image b");
  });

  test("removes the layers of every owner, and damaged ones are prepared again", async () => {
    const image = await put("a", 1);
    mkdirSync(join(box.store, "layers", "sha256", `${"c".repeat(64)}-1-1`));
    utimesSync(join(box.store, "layers", "sha256", `${"c".repeat(64)}-1-1`), 0, 0);
    writeFileSync(join(box.store, "blobs", "sha256", image.config.digest.slice(7)), "{");
    const store = await openAgain();
    expect(store.images()).toHaveLength(1);
    expect(store.prune()).toMatchObject({ entries: 1 });
    expect((await store.image("a")).layers).toHaveLength(2);
  });
});
