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
import { unpackLayer } from "../layer/unpack-layer.ts";
import { lowerView, type ViewedLayer } from "./lower-view.ts";

// XFN_LAYER_MUTATIONS=100000 for more, XFN_LAYER_SEED for others.
const MUTATIONS = Number(process.env["XFN_LAYER_MUTATIONS"] ?? 10_000);
const SEED = Number(process.env["XFN_LAYER_SEED"] ?? 1);
const BATCHES = 10;
/** How many layers are kept to be looked through by those that come after. */
const KEPT = 3;

/** Tens of thousands of files that live for a millisecond are better kept off a disk. */
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
    const record = await unpackLayer({
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
    if (lower === undefined && record.overlay && dice.oneIn(4)) {
      kept.push({ root: join(arena, "fs"), opaque: new Set(record.opaque) });
      if (kept.length <= KEPT) return;
      removeTree(join((kept.shift() as ViewedLayer).root, ".."));
      return;
    }
  } catch (error) {
    // Anything else would be a crash, or the system's refusal of something that we should not have tried.
    if (!(error instanceof ImageError)) throw new Error(`seed ${seed}`, { cause: error });
    expect(["UnsafeLayer", "DigestMismatch"], `seed ${seed}: ${error.message}`).toContain(error.code);
    tally.refused++;
  }
  expect(readdirSync(arena), `seed ${seed}`).toEqual(["fs"]);
  removeTree(arena);
}

/** Nothing in the tree gives anybody anything. */
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

describe(`${MUTATIONS} mutated layers, from seed ${SEED}: each is unpacked or refused, and nothing outside changes`, () => {
  const kept: ViewedLayer[] = [];
  const tally: Tally = { unpacked: 0, refused: 0 };

  test.each(Array.from({ length: BATCHES }, (_, i) => i))("batch %i", { timeout: 600_000 }, async (batch) => {
    const before = box.outside();
    for (let i = batch; i < MUTATIONS; i += BATCHES) await run(SEED * 1_000_000 + i, kept, tally);
    expect(box.outside()).toBe(before);
  });

  test("both ends of it are tried: many are unpacked, and many are refused", () => {
    expect(tally.unpacked + tally.refused).toBe(MUTATIONS);
    expect(tally.unpacked).toBeGreaterThan(MUTATIONS / 10);
    expect(tally.refused).toBeGreaterThan(MUTATIONS / 10);
  });
});
