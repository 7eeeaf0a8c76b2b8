import { randomUUID } from "node:crypto";
import { lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { readRecord, readSmallFile } from "../base/small-file.ts";
import { MAX_MANIFEST_BYTES } from "../image/manifest.ts";
import { readLayerRecord } from "../worker/layer-record-files.ts";
import type { NameRecord, NameStore } from "./name-store.ts";
import type { StoreDirectory } from "./store-directory.ts";

/** A file or directory takes up to a block more than its content. */
export const BLOCK_BYTES = 4096;

/** The resolution of a file's time, with a margin. */
const CLOCK_TICK_MS = 50;

/** A blob or an unpacked layer. */
export interface Entry {
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
export interface Candidate {
  readonly name: NameRecord | undefined;
  readonly label: string;
  readonly digests: readonly string[];
  readonly reachable: ReadonlySet<string>;
  readonly lastUsedMs: number;
}

export interface Marked {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly candidates: readonly Candidate[];
  /** By the digest of the manifest. */
  readonly records: ReadonlyMap<string, readonly ImageRecordFile[]>;
}

/** Lists everything in the store, and what is reachable from each name. */
export function mark(directory: StoreDirectory, names: NameStore): Marked {
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
    const { bytes = 0, nodes = 0 } = readLayerRecord(join(path, "fs")) ?? {};
    entries.set(`layer ${key}`, { path, bytes: bytes + BLOCK_BYTES * nodes, modifiedMs: modified(path) });
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

/** Changes with each name and image that is added. The time distinguishes changes within a tick of the clock. */
export function stampOf({ dir, names }: StoreDirectory): string {
  const folders = [names, ...list(join(dir, "images")).map((algorithm) => join(dir, "images", algorithm))];
  const times = folders.map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  const isRecent = Date.now() - Math.max(...times) < CLOCK_TICK_MS;
  return `${times.join(" ")} ${isRecent ? randomUUID() : ""}`;
}
