import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { flatten, type Image, ImageError, openStore, type Store } from "@xfn/oci-rootfs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeLayout } from "../../packages/oci-rootfs/testing/layout.ts";
import {
  isWhiteout,
  packImage,
  pullsTheRug,
  type RandomImage,
  randomImage,
} from "../../packages/oci-rootfs/testing/random-image.ts";
import { needs } from "../harness/needs.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { differences, readTree, type Tree } from "../harness/tree.ts";

// Compares random images with `umoci unpack`. XFN_LAYER_IMAGES=1000 runs more, and XFN_LAYER_SEED others.
const IMAGES = Number(process.env["XFN_LAYER_IMAGES"] ?? 200);
const SEED = Number(process.env["XFN_LAYER_SEED"] ?? 1);
const BATCH = 25;

const execute = promisify(execFile);

/**
 * Intended differences from umoci:
 *
 * - setuid, setgid, and the sticky bit of files are dropped: see `asDeclared`.
 * - Whiteouts and opaque marks apply only to lower layers, in any order (OCI image-spec, "Whiteouts"). umoci applies
 *   the entries in order, so its archives have them first: see `whiteoutsFirst`.
 * - If a layer has a path through a link that it also replaces, the result depends on the order of entries, and tools
 *   disagree. Such images are not compared (`pullsTheRug`).
 * - A hard link of a name to itself changes nothing. umoci rejects it.
 * - A name that leads out of the root, such as `../x`, is rejected. umoci cuts it off at the root.
 */
const REFUSED_BY_US_ALONE =
  /hard link to (?:a directory|nothing)|on the way is not a directory|too many symbolic links/;

function asDeclared(what: string): string {
  const masked = (mask: number) => (_: string, kind: string, mode: string) =>
    `${kind} ${(Number.parseInt(mode, 8) & mask).toString(8)}`;
  return what.replace(/^(file|fifo) (\d+)/, masked(0o777)).replace(/^(directory) (\d+)/, masked(0o1777));
}

function whiteoutsFirst(image: RandomImage): RandomImage {
  const layers = image.layers.map((entries) => [
    ...entries.filter(isWhiteout),
    ...entries.filter((entry) => !isWhiteout(entry)),
  ]);
  return { ...image, layers };
}

let dir: string;
let store: Store;
beforeAll(async () => {
  dir = temporaryFolder();
  store = await openStore({ dir: join(dir, "store") });
});
afterAll(() => {
  // Some of the directories are read-only.
  spawnSync("chmod", ["-R", "u+rwx", dir]);
  rmSync(dir, { recursive: true, force: true });
});

/** Seeds of the images that can be compared, which are most of them. */
function comparable(count: number): number[] {
  const seeds: number[] = [];
  for (let seed = SEED; seeds.length < count; seed++) if (!pullsTheRug(randomImage(seed))) seeds.push(seed);
  return seeds;
}

interface Outcome {
  readonly seed: number;
  readonly image?: Image;
  readonly ours?: Tree;
  readonly refused?: ImageError;
  readonly theirs?: Tree;
}

async function unpackBoth(seed: number): Promise<Outcome> {
  const made = randomImage(seed);
  const at = (what: string): string => join(dir, `${what}-${seed}`);
  const name = writeLayout(at("ours"), packImage(made));
  // umoci 0.4 does not read zstd, so it gets the archives themselves.
  const theirImage = { ...whiteoutsFirst(made), packing: { format: "tar", seed } as const };
  const theirName = writeLayout(at("theirs"), packImage(theirImage)).slice("oci:".length);
  const unpacking = execute("umoci", ["unpack", "--rootless", "--image", theirName, at("bundle")]).then(
    () => {
      const rootfs = join(at("bundle"), "rootfs");
      // An ordinary user cannot read every directory, and compares no modes.
      if (process.geteuid?.() !== 0) spawnSync("chmod", ["-R", "u+rwX", rootfs]);
      return readTree(rootfs);
    },
    () => undefined,
  );
  const image = await store.image(name).catch((error: unknown) => error);
  const theirs = await unpacking;
  if (image instanceof Error) {
    expect(image).toBeInstanceOf(ImageError);
    return { seed, refused: image as ImageError, ...(theirs && { theirs }) };
  }
  flatten((image as Image).layers, at("flat"));
  return { seed, image: image as Image, ours: readTree(at("flat")), ...(theirs && { theirs }) };
}

const seeds = comparable(IMAGES);
const batches = Array.from({ length: Math.ceil(seeds.length / BATCH) }, (_, i) =>
  seeds.slice(i * BATCH, (i + 1) * BATCH),
);
const outcomes: Outcome[] = [];

describe("random images unpack to the same tree as with umoci", needs("umoci"), () => {
  test.each(batches.map((batch) => [batch[0], batch.at(-1), batch] as const))(
    "seeds %i to %i",
    { timeout: 120_000 },
    async (_from, _to, batch) => {
      for (const seed of batch) {
        const outcome = await unpackBoth(seed);
        outcomes.push(outcome);
        const { ours, theirs, refused } = outcome;
        if (refused !== undefined) {
          expect(refused.code, `seed ${seed}: ${refused.message}`).toBe("UnsafeLayer");
          expect(refused).toMatchObject({ layer: expect.any(Number), digest: expect.any(String) });
        }
        if (ours === undefined || theirs === undefined) continue;
        const expected: Tree = new Map([...theirs].map(([path, what]) => [path, asDeclared(what)]));
        // For an ordinary user, files are always readable for their owner.
        const readable = (tree: Tree): Tree => (process.geteuid?.() === 0 ? tree : withoutModes(tree));
        expect(differences(readable(ours), readable(expected)), `seed ${seed}`).toEqual([]);
      }
    },
  );

  test("few of them are rejected, and hardly any only by this package", () => {
    const alone = outcomes.filter(({ refused, theirs }) => refused !== undefined && theirs !== undefined);
    for (const { refused, seed } of alone) expect(refused?.message, `seed ${seed}`).toMatch(REFUSED_BY_US_ALONE);
    expect(alone.length).toBeLessThanOrEqual(Math.max(2, outcomes.length / 50));
    const compared = outcomes.filter(({ ours, theirs }) => ours !== undefined && theirs !== undefined);
    expect(compared.length).toBeGreaterThan(outcomes.length * 0.75);
  });

  test("overlayfs in a user namespace shows the compared files", { timeout: 120_000 }, (context) => {
    const some = outcomes.filter(({ image, ours }) => image?.overlay === true && ours !== undefined).slice(0, 60);
    const stacks = some.map(({ image, seed }) => {
      const mountpoint = join(dir, `mount-${seed}`);
      mkdirSync(mountpoint);
      mkdirSync(join(dir, `empty-${seed}`));
      return { layers: image?.layers ?? [], mountpoint, empty: join(dir, `empty-${seed}`) };
    });
    const { stdout, status, stderr } = spawnSync(
      "unshare",
      ["-Urm", process.execPath, join(import.meta.dirname, "../harness/list-overlays.ts")],
      { input: JSON.stringify(stacks), encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
    );
    if (status !== 0) {
      // Without user namespaces or overlays in them, only `flatten` works.
      if (/unshare|mount:/.test(stderr)) context.skip(`no overlays in user namespaces: ${stderr.slice(0, 200)}`);
      throw new Error(stderr);
    }
    const seen = (JSON.parse(stdout) as [string, string][][]).map((tree) => new Map(tree));
    for (const [i, { ours, seed }] of some.entries())
      expect(differences(seen[i] ?? new Map(), withoutRoot(ours ?? new Map())), `seed ${seed}`).toEqual([]);
  });
});

function withoutModes(tree: Tree): Tree {
  return new Map([...tree].map(([path, what]) => [path, what.replace(/^(file|fifo|directory) \d+/, "$1")]));
}

/** Drops the root, whose mode is that of the uppermost directory and not of the image. */
function withoutRoot(tree: Tree): Tree {
  return new Map([...tree].map(([path, what]) => (path === "" ? [path, "directory 755"] : [path, what])));
}
