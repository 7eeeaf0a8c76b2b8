import { lstatSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { MAX_MANIFEST_BYTES } from "../image/manifest.ts";
import type { Leases } from "./leases.ts";
import type { NameRecord, NameStore } from "./name-store.ts";
import { readRecord, readSmallFile, type StoreDirectory } from "./store-directory.ts";

/** Which images to remove. Without `olderThanMs` and `maxBytes`: images without a name. */
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

/** What was removed, or would be. */
export interface PruneResult {
  /** Names of images; digests of images without a name. */
  readonly images: readonly string[];
  /** Images that were to be removed, but that a process uses. */
  readonly inUse: readonly string[];
  /** Number of unpacked layers and blobs. */
  readonly entries: number;
  readonly bytes: number;
}

/** An image of the store, by one of its names. */
export interface StoredImage {
  /** The digest if the image has no name. */
  readonly name: string;
  /** Digest of the manifest or index. */
  readonly digest: string;
  readonly built: boolean;
  readonly platforms: readonly string[];
  /** Size of its blobs and unpacked layers, including those that other images share. */
  readonly bytes: number;
  readonly lastUsed: Date;
  /** Whether a process uses it now. */
  readonly inUse: boolean;
}

/** Unreachable blobs and layers may belong to an image that is being built or pulled. Younger ones stay. */
const ORPHAN_MS = 60 * 60 * 1000;

/** A blob or an unpacked layer. */
interface Entry {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

/** A record in `images/`: a manifest whose layers were unpacked. */
interface ImageRecordFile {
  readonly path: string;
  readonly layers: readonly string[];
  readonly usedMs: number;
}

/** A name or an unnamed manifest, with the entries that are reachable from it. */
interface Candidate {
  readonly name: NameRecord | undefined;
  readonly label: string;
  readonly digests: readonly string[];
  readonly reachable: ReadonlySet<string>;
  readonly lastUsedMs: number;
  readonly inUse: boolean;
}

interface Marked {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly candidates: readonly Candidate[];
  /** By the digest of the manifest. */
  readonly records: ReadonlyMap<string, readonly ImageRecordFile[]>;
}

export function listImages(directory: StoreDirectory, names: NameStore, leases: Leases): StoredImage[] {
  return leases.collect((inUse) => {
    const { candidates, entries } = mark(directory, names, inUse);
    return candidates
      .map(({ name, label, digests, reachable, lastUsedMs, inUse }) => ({
        name: label,
        digest: name?.target.digest ?? (digests[0] as string),
        built: name?.built ?? false,
        platforms: Object.keys(name?.manifests ?? {}).sort(),
        bytes: sizeOf(entries, reachable),
        lastUsed: new Date(lastUsedMs),
        inUse,
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  });
}

/** @param chosen names to remove, whatever the options are */
export function collectGarbage(
  directory: StoreDirectory,
  names: NameStore,
  leases: Leases,
  options: PruneOptions,
  chosen?: ReadonlySet<string>,
): PruneResult {
  const trash: string[] = [];
  const result = leases.collect((inUse): PruneResult => {
    const marked = mark(directory, names, inUse);
    const [blocked, removed] = partition(choose(marked, options, chosen));
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
      // Renames first and deletes afterwards, so that no process sees a partial layer.
      for (const [, { path }] of victims) {
        const aside = directory.temporary();
        renameSync(path, aside);
        trash.push(aside);
      }
    }
    return {
      images: [...removed].map(({ label }) => label).sort(),
      inUse: blocked.map(({ label }) => label).sort(),
      entries: victims.length,
      bytes: victims.reduce((sum, [, { bytes }]) => sum + bytes, 0),
    };
  });
  for (const path of trash) directory.remove(path);
  return result;
}

function partition(chosen: readonly Candidate[]): [blocked: readonly Candidate[], removed: ReadonlySet<Candidate>] {
  return [chosen.filter(({ inUse }) => inUse), new Set(chosen.filter(({ inUse }) => !inUse))];
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
  if (maxBytes !== undefined) {
    for (const one of byAge) {
      const left = reachableFrom(candidates.filter((candidate) => !removed.has(candidate) || candidate.inUse));
      if (sizeOf(entries, left) <= maxBytes) break;
      removed.add(one);
    }
  }
  return [...removed];
}

function reachableFrom(candidates: readonly Candidate[]): Set<string> {
  return new Set(candidates.flatMap(({ reachable }) => [...reachable]));
}

function sizeOf(entries: ReadonlyMap<string, Entry>, keys: ReadonlySet<string>): number {
  let bytes = 0;
  for (const key of keys) bytes += entries.get(key)?.bytes ?? 0;
  return bytes;
}

/** Lists everything in the store, and what is reachable from each name. */
function mark(directory: StoreDirectory, names: NameStore, inUse: ReadonlySet<string>): Marked {
  const entries = listEntries(directory);
  const records = listRecords(directory);
  const ownLayers = layersByDiffId(entries.keys());
  const candidate = (name: NameRecord | undefined, digests: readonly string[], fallbackMs: number): Candidate => {
    const reachable = new Set<string>();
    for (const digest of digests) {
      reachable.add(`image ${digest}`);
      for (const blob of blobsOf(directory, digest)) reachable.add(`blob ${blob}`);
      for (const { layers } of records.get(digest) ?? []) for (const key of layers) reachable.add(`layer ${key}`);
      for (const diffId of diffIdsOf(directory, digest))
        for (const key of ownLayers.get(diffId) ?? []) reachable.add(key);
    }
    const used = digests.flatMap((digest) => (records.get(digest) ?? []).map(({ usedMs }) => usedMs));
    return {
      name,
      label: name?.name ?? (digests[0] as string),
      digests,
      reachable,
      lastUsedMs: used.length === 0 ? fallbackMs : Math.max(...used),
      inUse: digests.some((digest) => inUse.has(`image ${digest}`)),
    };
  };
  const candidates: Candidate[] = [];
  const named = new Set<string>();
  for (const name of names.list()) {
    const digests = [...new Set([name.target.digest, ...Object.values(name.manifests)])];
    for (const digest of digests) named.add(digest);
    candidates.push(candidate(name, digests, names.modifiedMs(name.name)));
  }
  for (const digest of records.keys()) if (!named.has(digest)) candidates.push(candidate(undefined, [digest], 0));
  return { entries, candidates, records };
}

function listEntries(directory: StoreDirectory): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const key of list(directory.layerPath(""))) {
    const path = directory.layerPath(key);
    const record = readRecord(join(path, "layer.json")) as { bytes?: number } | undefined;
    entries.set(`layer ${key}`, { path, bytes: record?.bytes ?? 0, modifiedMs: modified(path) });
  }
  for (const algorithm of list(join(directory.dir, "blobs")))
    for (const hex of list(join(directory.dir, "blobs", algorithm))) {
      const path = join(directory.dir, "blobs", algorithm, hex);
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats !== undefined)
        entries.set(`blob ${algorithm}:${hex}`, { path, bytes: stats.size, modifiedMs: stats.mtimeMs });
    }
  return entries;
}

function listRecords(directory: StoreDirectory): Map<string, ImageRecordFile[]> {
  const records = new Map<string, ImageRecordFile[]>();
  for (const algorithm of list(join(directory.dir, "images")))
    for (const file of list(join(directory.dir, "images", algorithm))) {
      const path = join(directory.dir, "images", algorithm, file);
      const digest = `${algorithm}:${file.replace(/(?:-\d+-\d+)?\.json$/, "")}`;
      const record = readRecord(path) as { layers?: readonly string[] } | undefined;
      const one = { path, layers: record?.layers ?? [], usedMs: modified(path) };
      records.set(digest, [...(records.get(digest) ?? []), one]);
    }
  return records;
}

/**
 * Layers by the digest of their content, for every owner of the files. An image retains these even if it uses a variant
 * that was unpacked for its position above other layers.
 */
function layersByDiffId(keys: Iterable<string>): Map<string, string[]> {
  return Map.groupBy(
    [...keys].filter((key) => key.startsWith("layer ")),
    (key) => {
      const bare = key.slice("layer ".length).replace(/-\d+-\d+$/, "");
      return bare.startsWith("sha512-") ? bare.replace("-", ":") : `sha256:${bare}`;
    },
  );
}

interface Document {
  readonly config?: { readonly digest?: string };
  readonly layers?: readonly { readonly digest?: string }[];
  readonly manifests?: readonly { readonly digest?: string }[];
  readonly rootfs?: { readonly diff_ids?: readonly string[] };
}

function read(directory: StoreDirectory, digest: string): Document | undefined {
  try {
    return JSON.parse(readSmallFile(directory.blobPath(digest), MAX_MANIFEST_BYTES).toString("utf8")) as Document;
  } catch {
    // A missing or damaged document references nothing.
    return undefined;
  }
}

/** Digests of a manifest or index and of all that it references. An index within an index is not followed. */
function blobsOf(directory: StoreDirectory, digest: string): string[] {
  const document = read(directory, digest);
  const children = (document?.manifests ?? []).flatMap((child) =>
    child.digest === undefined || child.digest === digest
      ? []
      : [child.digest, ...partsOf(read(directory, child.digest))],
  );
  return [digest, ...partsOf(document), ...children];
}

function partsOf(document: Document | undefined): string[] {
  const parts = [document?.config?.digest, ...(document?.layers ?? []).map((layer) => layer.digest)];
  return parts.filter((part) => part !== undefined);
}

function diffIdsOf(directory: StoreDirectory, digest: string): readonly string[] {
  const config = read(directory, digest)?.config?.digest;
  return config === undefined ? [] : (read(directory, config)?.rootfs?.diff_ids ?? []);
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function modified(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
