import { lstatSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { MAX_MANIFEST_BYTES } from "../image/manifest.ts";
import type { Leases } from "./leases.ts";
import type { NameRecord, NameStore } from "./name-store.ts";
import { readRecord, readSmallFile, type StoreDirectory } from "./store-directory.ts";

/** What is to go. Without `olderThanMs` and `maxBytes`: images that no name leads to. */
export interface PruneOptions {
  /** Images that were not used for so many milliseconds, named or not. */
  olderThanMs?: number | undefined;
  /** Those that were used longest ago, until the store takes no more bytes than this. */
  maxBytes?: number | undefined;
  /** Images that were built here as well, by age and size: no registry has them. Default false. */
  built?: boolean | undefined;
  /** Only say what would go. */
  dryRun?: boolean | undefined;
}

/** What went, or would go. */
export interface PruneResult {
  /** Names of images, and digests of those without one. */
  readonly images: readonly string[];
  /** What would have gone, but is in use by a process. */
  readonly inUse: readonly string[];
  /** Unpacked layers and blobs. */
  readonly entries: number;
  readonly bytes: number;
}

/** An image of the store, by one of its names. */
export interface StoredImage {
  /** Its digest where it has no name. */
  readonly name: string;
  /** Of the manifest or index. */
  readonly digest: string;
  readonly built: boolean;
  readonly platforms: readonly string[];
  /** Of its blobs and unpacked layers, also those that it shares with others. */
  readonly bytes: number;
  readonly lastUsed: Date;
  /** Whether some process uses it now. */
  readonly inUse: boolean;
}

/** Blobs and layers that no image has yet may belong to one that is being built or fetched. */
const ORPHAN_MS = 60 * 60 * 1000;

interface Entry {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

interface Candidate {
  readonly name: NameRecord | undefined;
  readonly label: string;
  readonly digests: readonly string[];
  readonly reach: ReadonlySet<string>;
  readonly lastUsedMs: number;
  readonly inUse: boolean;
}

interface Survey {
  readonly entries: Map<string, Entry>;
  readonly candidates: Candidate[];
  /** Entries of images, by their manifests' digests. */
  readonly records: Map<string, { path: string; layers: readonly string[]; usedMs: number }[]>;
}

export function listImages(directory: StoreDirectory, names: NameStore, leases: Leases): StoredImage[] {
  return leases.collect((inUse) => {
    const { candidates, entries } = survey(directory, names, inUse);
    return candidates
      .map(({ name, label, digests, reach, lastUsedMs, inUse }) => ({
        name: label,
        digest: name?.target.digest ?? (digests[0] as string),
        built: name?.built ?? false,
        platforms: Object.keys(name?.manifests ?? {}).sort(),
        bytes: sizeOf(entries, reach),
        lastUsed: new Date(lastUsedMs),
        inUse,
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  });
}

/** @param chosen - names that go whatever the options say */
export function collectGarbage(
  directory: StoreDirectory,
  names: NameStore,
  leases: Leases,
  options: PruneOptions,
  chosen?: ReadonlySet<string>,
): PruneResult {
  const trash: string[] = [];
  const result = leases.collect((inUse): PruneResult => {
    const all = survey(directory, names, inUse);
    const going = choose(all, options, chosen);
    const blocked = going.filter((candidate) => candidate.inUse);
    const gone = new Set(going.filter((candidate) => !candidate.inUse));
    const kept = reachOf(all.candidates.filter((candidate) => !gone.has(candidate)));
    const released = reachOf([...gone]);
    const now = Date.now();
    const victims = [...all.entries].filter(
      ([key, { modifiedMs }]) =>
        !kept.has(key) &&
        !inUse.has(key) &&
        (released.has(key) || (chosen === undefined && now - modifiedMs > ORPHAN_MS)),
    );
    if (options.dryRun !== true) {
      for (const { name, digests } of gone) {
        if (name !== undefined) names.remove(name.name);
        for (const digest of digests)
          if (!kept.has(`image ${digest}`))
            for (const { path } of all.records.get(digest) ?? []) rmSync(path, { force: true });
      }
      // Renamed at once, and only then taken apart: no layer is ever there in part.
      for (const [, { path }] of victims) {
        const aside = directory.temporary();
        renameSync(path, aside);
        trash.push(aside);
      }
    }
    return {
      images: [...gone].map(({ label }) => label).sort(),
      inUse: blocked.map(({ label }) => label).sort(),
      entries: victims.length,
      bytes: victims.reduce((sum, [, { bytes }]) => sum + bytes, 0),
    };
  });
  for (const path of trash) directory.remove(path);
  return result;
}

function choose(
  { candidates, entries }: Survey,
  options: PruneOptions,
  chosen: ReadonlySet<string> | undefined,
): Candidate[] {
  if (chosen !== undefined) return candidates.filter(({ name }) => name !== undefined && chosen.has(name.name));
  const { olderThanMs, maxBytes, built = false } = options;
  const now = Date.now();
  const byAge = candidates
    .toSorted((a, b) => a.lastUsedMs - b.lastUsedMs)
    .filter(({ name }) => built || name?.built !== true);
  const going = new Set<Candidate>();
  if (olderThanMs !== undefined) for (const one of byAge) if (now - one.lastUsedMs > olderThanMs) going.add(one);
  if (olderThanMs === undefined && maxBytes === undefined)
    for (const one of byAge) if (one.name === undefined) going.add(one);
  if (maxBytes !== undefined) {
    for (const one of byAge) {
      const left = reachOf(candidates.filter((candidate) => !going.has(candidate) || candidate.inUse));
      if (sizeOf(entries, left) <= maxBytes) break;
      going.add(one);
    }
  }
  return [...going];
}

function reachOf(candidates: readonly Candidate[]): Set<string> {
  return new Set(candidates.flatMap(({ reach }) => [...reach]));
}

function sizeOf(entries: ReadonlyMap<string, Entry>, reach: ReadonlySet<string>): number {
  let bytes = 0;
  for (const key of reach) bytes += entries.get(key)?.bytes ?? 0;
  return bytes;
}

/** Everything that the store holds, and what leads to it. */
function survey(directory: StoreDirectory, names: NameStore, inUse: ReadonlySet<string>): Survey {
  const entries = new Map<string, Entry>();
  const layers = directory.layerPath("");
  for (const key of list(layers)) {
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
  const records: Survey["records"] = new Map();
  for (const algorithm of list(join(directory.dir, "images")))
    for (const file of list(join(directory.dir, "images", algorithm))) {
      const path = join(directory.dir, "images", algorithm, file);
      const digest = `${algorithm}:${file.replace(/(?:-\d+-\d+)?\.json$/, "")}`;
      const record = readRecord(path) as { layers?: readonly string[] } | undefined;
      const one = { path, layers: record?.layers ?? [], usedMs: modified(path) };
      records.set(digest, [...(records.get(digest) ?? []), one]);
    }

  // A layer by itself, whoever owns its files, is kept for its image also where another was made of it for its place.
  const alone = Map.groupBy(
    [...entries.keys()].filter((key) => key.startsWith("layer ")),
    (key) => {
      const bare = key.slice("layer ".length).replace(/-\d+-\d+$/, "");
      return bare.startsWith("sha512-") ? bare.replace("-", ":") : `sha256:${bare}`;
    },
  );
  const candidate = (name: NameRecord | undefined, digests: readonly string[], fallbackMs: number): Candidate => {
    const reach = new Set<string>();
    for (const digest of digests) {
      reach.add(`image ${digest}`);
      for (const blob of documentsOf(directory, digest)) reach.add(`blob ${blob}`);
      for (const { layers } of records.get(digest) ?? []) for (const key of layers) reach.add(`layer ${key}`);
      for (const diffId of diffIdsOf(directory, digest)) for (const key of alone.get(diffId) ?? []) reach.add(key);
    }
    const used = digests.flatMap((digest) => (records.get(digest) ?? []).map(({ usedMs }) => usedMs));
    return {
      name,
      label: name?.name ?? (digests[0] as string),
      digests,
      reach,
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
    // Missing, damaged, or no document at all: it leads nowhere.
    return undefined;
  }
}

/** Digests of all that a manifest or index needs, itself included. */
function documentsOf(directory: StoreDirectory, digest: string): string[] {
  const document = read(directory, digest);
  const parts = [document?.config?.digest, ...(document?.layers ?? []).map((layer) => layer.digest)];
  const children = (document?.manifests ?? []).flatMap((child) =>
    child.digest === undefined || child.digest === digest ? [] : documentsOfChild(directory, child.digest),
  );
  return [digest, ...parts.filter((part) => part !== undefined), ...children];
}

/** An index within an index is not followed. */
function documentsOfChild(directory: StoreDirectory, digest: string): string[] {
  const document = read(directory, digest);
  const parts = [document?.config?.digest, ...(document?.layers ?? []).map((layer) => layer.digest)];
  return [digest, ...parts.filter((part) => part !== undefined)];
}

function diffIdsOf(directory: StoreDirectory, digest: string): readonly string[] {
  const config = read(directory, digest)?.config?.digest;
  return config === undefined ? [] : (read(directory, config)?.rootfs?.diff_ids ?? []);
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function modified(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
