import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Leases } from "./leases.ts";
import { type Candidate, type Entry, type Marked, mark, stampOf } from "./mark.ts";
import type { NameStore } from "./name-store.ts";
import type { StoreDirectory } from "./store-directory.ts";

/** Selects images to remove. Default, without `olderThanMs` and `maxBytes`: images without a name. */
export interface PruneOptions {
  /** Removes images that were not used for this many milliseconds, named or not. */
  olderThanMs?: number | undefined;
  /** Removes the least recently used images until the store takes at most this many bytes. */
  maxBytes?: number | undefined;
  /** Also removes locally built images by age and size, although no registry has them. Default false. */
  built?: boolean | undefined;
  /** Removes nothing, and only reports. */
  dryRun?: boolean | undefined;
}

/** The removed images and files. With `dryRun`, those that would be removed. */
export interface PruneResult {
  /** Names of images; digests of images without a name. */
  readonly images: readonly string[];
  /** Images that were to be removed, but that a process uses. */
  readonly inUse: readonly string[];
  /** Number of unpacked layers and blobs. */
  readonly entries: number;
  /** Their size on disk, as in `StoredImage`. */
  readonly bytes: number;
  /** The size of what stays. */
  readonly bytesLeft: number;
}

/** An image of the store, by one of its names. */
export interface StoredImage {
  /** The digest if the image has no name. */
  readonly name: string;
  /** Digest of the manifest or index. */
  readonly digest: string;
  readonly built: boolean;
  readonly platforms: readonly string[];
  /**
   * Size of its blobs and unpacked layers, including those that other images share. Counts a block of 4 KiB for each
   * file and directory in addition to its content.
   */
  readonly bytes: number;
  readonly lastUsed: Date;
  /** Whether a process uses it now. */
  readonly inUse: boolean;
}

/** Unreachable blobs and layers may belong to an image that is being built or pulled. Younger ones stay. */
const ORPHAN_MS = 60 * 60 * 1000;

/** After so many changed stores, the store is marked under the lock. */
const MARK_ATTEMPTS = 3;

export function listImages(directory: StoreDirectory, names: NameStore, leases: Leases): StoredImage[] {
  return collectMarked(directory, names, leases, ({ candidates, entries }, inUse) =>
    candidates
      .map((candidate) => ({
        name: candidate.label,
        digest: candidate.name?.target.digest ?? (candidate.digests[0] as string),
        built: candidate.name?.built ?? false,
        platforms: Object.keys(candidate.name?.manifests ?? {}).sort(),
        bytes: sizeOf(entries, candidate.reachable),
        lastUsed: new Date(candidate.lastUsedMs),
        inUse: isUsed(candidate, inUse),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  );
}

/** @param chosen names to remove, even if the options exclude them */
export function collectGarbage(
  directory: StoreDirectory,
  names: NameStore,
  leases: Leases,
  options: PruneOptions,
  chosen?: ReadonlySet<string>,
): PruneResult {
  let trash: string | undefined;
  const result = collectMarked(directory, names, leases, (marked, inUse): PruneResult => {
    const [blocked, removed] = partition(choose(marked, inUse, options, chosen), inUse);
    const retained = reachableFrom(marked.candidates.filter((candidate) => !removed.has(candidate)));
    const released = reachableFrom([...removed]);
    const now = Date.now();
    const victims = [...marked.entries].filter(
      ([key, { modifiedMs }]) =>
        !retained.has(key) &&
        !inUse.has(key) &&
        (released.has(key) || (chosen === undefined && now - modifiedMs > ORPHAN_MS)),
    );
    if (options.dryRun !== true) {
      removeRecords(removed, retained, marked, names);
      if (victims.length > 0) trash = moveAside(directory, victims);
    }
    const bytes = victims.reduce((sum, [, entry]) => sum + entry.bytes, 0);
    return {
      images: [...removed].map(({ label }) => label).sort(),
      inUse: blocked.map(({ label }) => label).sort(),
      entries: victims.length,
      bytes,
      bytesLeft: sizeOf(marked.entries, marked.entries.keys()) - bytes,
    };
  });
  if (trash !== undefined) directory.discard(trash, { background: false });
  return result;
}

/**
 * Marks without the lock, because users of images wait for it. Marks again if the store has changed meanwhile: an image
 * that was added may share what would be removed.
 */
function collectMarked<T>(
  directory: StoreDirectory,
  names: NameStore,
  leases: Leases,
  work: (marked: Marked, inUse: ReadonlySet<string>) => T,
): T {
  for (let attempt = 1; ; attempt += 1) {
    const before = stampOf(directory);
    const marked = mark(directory, names);
    const result = leases.collect((inUse) => {
      if (stampOf(directory) === before) return { value: work(marked, inUse) };
      return attempt < MARK_ATTEMPTS ? undefined : { value: work(mark(directory, names), inUse) };
    });
    if (result !== undefined) return result.value;
  }
}

/** Renames first and deletes afterwards, so that no process sees a partial layer. */
function moveAside(directory: StoreDirectory, victims: readonly (readonly [string, Entry])[]): string {
  const trash = directory.temporary();
  mkdirSync(trash, { mode: 0o700 });
  for (const [i, [key, { path }]] of victims.entries()) {
    renameSync(path, join(trash, String(i)));
    if (key.startsWith("blob ")) rmSync(directory.unpackedPath(key.slice("blob ".length)), { force: true });
  }
  return trash;
}

function partition(
  chosen: readonly Candidate[],
  inUse: ReadonlySet<string>,
): [blocked: readonly Candidate[], removed: ReadonlySet<Candidate>] {
  const { blocked = [], free = [] } = Object.groupBy(chosen, (one) => (isUsed(one, inUse) ? "blocked" : "free"));
  return [blocked, new Set(free)];
}

function isUsed({ digests }: Candidate, inUse: ReadonlySet<string>): boolean {
  return digests.some((digest) => inUse.has(`image ${digest}`));
}

function removeRecords(
  removed: ReadonlySet<Candidate>,
  retained: ReadonlySet<string>,
  { records }: Marked,
  names: NameStore,
): void {
  for (const { name, digests } of removed) {
    if (name !== undefined) names.remove(name.name);
    for (const digest of digests)
      if (!retained.has(`image ${digest}`))
        for (const { path } of records.get(digest) ?? []) rmSync(path, { force: true });
  }
}

function choose(
  { candidates, entries }: Marked,
  inUse: ReadonlySet<string>,
  options: PruneOptions,
  chosen: ReadonlySet<string> | undefined,
): Candidate[] {
  if (chosen !== undefined) return candidates.filter(({ name }) => name !== undefined && chosen.has(name.name));
  const { olderThanMs, maxBytes, built = false } = options;
  const now = Date.now();
  const byAge = candidates
    .toSorted((a, b) => a.lastUsedMs - b.lastUsedMs)
    .filter(({ name }) => built || name?.built !== true);
  const removed = new Set<Candidate>();
  if (olderThanMs !== undefined) for (const one of byAge) if (now - one.lastUsedMs > olderThanMs) removed.add(one);
  if (olderThanMs === undefined && maxBytes === undefined)
    for (const one of byAge) if (one.name === undefined) removed.add(one);
  if (maxBytes !== undefined) addOldest(removed, byAge, maxBytes, new Remaining(candidates, entries, inUse));
  return [...removed];
}

function addOldest(removed: Set<Candidate>, byAge: readonly Candidate[], maxBytes: number, left: Remaining): void {
  for (const one of removed) left.remove(one);
  for (const one of byAge) {
    if (left.bytes <= maxBytes) return;
    if (removed.has(one)) continue;
    removed.add(one);
    left.remove(one);
  }
}

/** The size of what stays while images are removed, by the number of images that share each entry. */
class Remaining {
  readonly #users = new Map<string, number>();
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #inUse: ReadonlySet<string>;
  bytes = 0;

  constructor(candidates: readonly Candidate[], entries: ReadonlyMap<string, Entry>, inUse: ReadonlySet<string>) {
    this.#entries = entries;
    this.#inUse = inUse;
    for (const { reachable } of candidates)
      for (const key of reachable) this.#users.set(key, (this.#users.get(key) ?? 0) + 1);
    this.bytes = sizeOf(entries, this.#users.keys());
  }

  remove(candidate: Candidate): void {
    if (isUsed(candidate, this.#inUse)) return;
    for (const key of candidate.reachable) {
      const users = (this.#users.get(key) ?? 0) - 1;
      this.#users.set(key, users);
      if (users === 0) this.bytes -= this.#entries.get(key)?.bytes ?? 0;
    }
  }
}

function reachableFrom(candidates: readonly Candidate[]): Set<string> {
  const all = new Set<string>();
  for (const { reachable } of candidates) for (const key of reachable) all.add(key);
  return all;
}

function sizeOf(entries: ReadonlyMap<string, Entry>, keys: Iterable<string>): number {
  let bytes = 0;
  for (const key of keys) bytes += entries.get(key)?.bytes ?? 0;
  return bytes;
}
