import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testImage, writeLayout } from "../../testing/layout.ts";
import { listTree, type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { directory, file, hardlink, symlink, tarball } from "../../testing/tarball.ts";
import { openStore } from "../transfer/open-store.ts";
import type { Image } from "./store.ts";

// Kills a process with SIGKILL before each of its changes to the store, which is also after the preceding one.

let box: Sandbox;
let name: string;
beforeEach(() => {
  box = sandbox();
  // The second layer is unpacked twice: alone, and for its position above the link.
  const layers = [
    [symlink("lib", "usr/lib"), file("usr/lib/a", "1"), directory("tmp", 0o1777)],
    [file("lib/b", "2"), hardlink("lib/c", "lib/b"), file("usr/lib/.wh.a")],
  ];
  name = writeLayout(join(box.dir, "layout"), testImage(layers.map((layer) => tarball(layer))));
});
afterEach(() => {
  box[Symbol.dispose]();
});

/** @returns the number of changes; undefined if the process was killed */
async function run(store: string, at: number, ...what: string[]): Promise<number | undefined> {
  const script = join(import.meta.dirname, "../..", "testing", "crash-in-child.ts");
  const child = spawn(process.execPath, [script, store, String(at), ...what], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => (stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (stderr += String(chunk)));
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  if (signal === "SIGKILL") return undefined;
  if (code !== 0) throw new Error(stderr);
  return Number(stdout);
}

const PARALLEL = 4;

/** Kills a process at every change, and checks the store each time. */
async function sweep(
  prepare: (store: string) => Promise<void>,
  what: string[],
  look: (store: string) => Promise<void>,
): Promise<number> {
  const total = (await run(await fresh(prepare, 0), 0, ...what)) as number;
  let next = 1;
  const worker = async (): Promise<void> => {
    for (let at = next++; at <= total; at = next++) {
      const store = await fresh(prepare, at);
      await run(store, at, ...what);
      await look(store);
      // The next process removes the temporary files of the killed one.
      expect(readdirSync(join(store, "tmp")), `killed at ${at}`).toEqual([]);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return total;
}

async function fresh(prepare: (store: string) => Promise<void>, at: number): Promise<string> {
  const store = join(box.dir, `store-${at}`);
  await prepare(store);
  return store;
}

function expectWhole({ layers }: Image): void {
  expect(layers.map((layer) => listTree(layer).slice(1))).toEqual([
    ["lib -> usr/lib", "tmp/ 1777", "usr/ 755", "usr/lib/ 755", 'usr/lib/a 644 "1" 1'],
    ["usr/ 755", "usr/lib/ 755", "usr/lib/a 0 device 0", 'usr/lib/b 644 "2" 1', 'usr/lib/c 644 "2" 1'],
  ]);
}

describe("killed at every write", () => {
  test("while an image is prepared: the next process prepares it, and nothing incomplete is used", {
    timeout: 300_000,
  }, async () => {
    const total = await sweep(
      async () => {},
      ["image", name],
      async (dir) => {
        const layers = join(dir, "layers", "sha256");
        // Committed layers are complete before any recovery.
        for (const key of safeList(layers))
          expect(() => JSON.parse(readFileSync(join(layers, key, "layer.json"), "utf8"))).not.toThrow();
        const store = await openStore({ dir });
        expectWhole(await store.image(name));
      },
    );
    expect(total).toBeGreaterThan(40);
  });

  test("while images are removed: the listed ones can be used", { timeout: 300_000 }, async () => {
    const total = await sweep(
      async (dir) => {
        const store = await openStore({ dir });
        const { digest } = await store.image(name);
        store.tag("fn", digest);
        store.release(digest);
      },
      ["prune"],
      async (dir) => {
        const after = await openStore({ dir });
        for (const image of after.images())
          if (image.name === "fn:latest") await after.image("fn").catch(unlessMissing);
        expectWhole(await after.image(name));
        expect(readdirSync(dir)).not.toContain("collecting");
      },
    );
    expect(total).toBeGreaterThan(10);
  });
});

/** The name may outlive its blobs. Only the layout still has the image. */
function unlessMissing(error: unknown): void {
  expect(error).toMatchObject({ code: "NotFound" });
}

function safeList(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
