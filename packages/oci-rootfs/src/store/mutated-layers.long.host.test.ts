import { accessSync, constants, lstatSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sha256 } from "../../testing/layout.ts";
import { mutatedLayer } from "../../testing/mutate-layer.ts";
import { random } from "../../testing/random.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { ImageError } from "../base/errors.ts";
import { removeTree } from "../base/remove-tree.ts";
import { DEFAULT_LAYER_LIMITS } from "../layer/layer-limits.ts";
import type { UnpackedLayer } from "../layer/layer-record.ts";
import { unpackLayer } from "../layer/unpack-layer.ts";
import { lowerView, type ViewedLayer } from "../worker/lower-view.ts";

// XFN_LAYER_MUTATIONS=100000 runs more, and XFN_LAYER_SEED others.
const MUTATIONS = Number(process.env["XFN_LAYER_MUTATIONS"] ?? 2_000);
const SEED = Number(process.env["XFN_LAYER_SEED"] ?? 1);
const BATCHES = 10;
/** Number of unpacked layers that are retained as lower layers. */
const KEPT = 3;

/** In memory if possible, because tens of thousands of files exist only for a millisecond. */
function inMemory(): string | undefined {
  try {
    accessSync("/dev/shm", constants.W_OK);
    return "/dev/shm";
  } catch {
    return undefined;
  }
}

let box: Sandbox;
beforeAll(() => {
  box = sandbox(inMemory());
  mkdirSync(box.store);
});
afterAll(() => box[Symbol.dispose]());

interface Tally {
  unpacked: number;
  refused: number;
}

async function run(seed: number, kept: ViewedLayer[], tally: Tally): Promise<void> {
  const { packed, archive } = mutatedLayer(seed, join(box.dir, "sentinel"));
  const dice = random(seed);
  const arena = join(box.store, String(seed));
  mkdirSync(arena);
  const lower = kept.length > 0 && dice.oneIn(3) ? lowerView(kept) : undefined;
  const step = 1 + dice.below(2000);
  const source = async function* (): AsyncGenerator<Uint8Array, void> {
    for (let at = 0; at < packed.length; at += step) yield packed.subarray(at, at + step);
  };
  try {
    const unpacked = await unpackLayer({
      root: join(arena, "fs"),
      limits: { ...DEFAULT_LAYER_LIMITS, maxBytes: 64 * 1024 ** 2 },
      owner: undefined,
      lower,
      named: undefined,
      source: source(),
      diffId: sha256(archive),
      packedBytes: packed.length,
    });
    tally.unpacked++;
    expectHarmless(Buffer.from(join(arena, "fs")), seed);
    const { record } = unpacked as UnpackedLayer;
    if (lower === undefined && record.overlay && dice.oneIn(4)) {
      kept.push({ root: join(arena, "fs"), opaque: new Set(record.opaque) });
      if (kept.length <= KEPT) return;
      removeTree(join((kept.shift() as ViewedLayer).root, ".."));
      return;
    }
  } catch (error) {
    // Any other error is a bug, or a system call that must not have been made.
    if (!(error instanceof ImageError)) throw new Error(`seed ${seed}`, { cause: error });
    expect(["UnsafeLayer", "DigestMismatch"], `seed ${seed}: ${error.message}`).toContain(error.code);
    tally.refused++;
  }
  expect(readdirSync(arena), `seed ${seed}`).toEqual(["fs"]);
  removeTree(arena);
}

/** Checks that no file in the tree grants privileges. */
function expectHarmless(directory: Buffer, seed: number): void {
  for (const name of readdirSync(directory, "buffer")) {
    const path = Buffer.concat([directory, Buffer.from("/"), name]);
    const stats = lstatSync(path);
    const forbidden = stats.isDirectory() ? 0o6000 : 0o7000;
    if (!stats.isSymbolicLink() && (stats.mode & forbidden) !== 0)
      throw new Error(`seed ${seed}: mode of ${String(path)}`);
    if (stats.isBlockDevice() || (stats.isCharacterDevice() && stats.rdev !== 0))
      throw new Error(`seed ${seed}: device ${String(path)}`);
    if (stats.isDirectory() && (stats.mode & 0o500) === 0o500) expectHarmless(path, seed);
  }
}

describe(`${MUTATIONS} mutated layers, from seed ${SEED}: each is unpacked or rejected, and nothing outside changes`, () => {
  const kept: ViewedLayer[] = [];
  const tally: Tally = { unpacked: 0, refused: 0 };

  test.each(Array.from({ length: BATCHES }, (_, i) => i))("batch %i", { timeout: 600_000 }, async (batch) => {
    const before = box.outside();
    for (let i = batch; i < MUTATIONS; i += BATCHES) await run(SEED * 1_000_000 + i, kept, tally);
    expect(box.outside()).toBe(before);
  });

  test("many are unpacked, and many are rejected", () => {
    expect(tally.unpacked + tally.refused).toBe(MUTATIONS);
    expect(tally.unpacked).toBeGreaterThan(MUTATIONS / 10);
    expect(tally.refused).toBeGreaterThan(MUTATIONS / 10);
  });
});
