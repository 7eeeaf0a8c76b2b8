import { createHash } from "node:crypto";
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { BoundedCache, stringBytes } from "../base/bounded-cache.ts";
import { fileStamp } from "../base/file-stamp.ts";
import { readRecord } from "../base/small-file.ts";
import type { Descriptor } from "../image/manifest.ts";
import type { StoreDirectory } from "./store-directory.ts";

export interface NameRecord {
  readonly name: string;
  /** Its manifest or index. */
  readonly target: Pick<Descriptor, "mediaType" | "digest" | "size">;
  /** Digests of the unpacked manifests, by platform (`linux/amd64`). */
  readonly manifests: Readonly<Record<string, string>>;
  /** Built locally (`xfn build`), so that no registry has a newer version. */
  readonly built: boolean;
}

/** Names of images, in one small file each, so that processes need no lock. */
export interface NameStore {
  get(name: string): NameRecord | undefined;
  put(record: NameRecord): void;
  remove(name: string): void;
  /** The time of the last `put`; 0 for an unknown name. */
  modifiedMs(name: string): number;
  list(): NameRecord[];
}

/**
 * The heap for records of names in memory: some 12,000 names, of 1,300 bytes each. An evicted one is read again, which
 * adds a third to the time of a look-up.
 */
const MAX_KNOWN_BYTES = 16 * 1024 * 1024;

interface KnownName {
  readonly path: string;
  readonly stamp: string;
  readonly record: NameRecord | undefined;
}

export function nameStore(store: StoreDirectory): NameStore {
  // Hashed, because a name has slashes and may be longer than NAME_MAX.
  const pathOf = (name: string): string => join(store.names, `${createHash("sha256").update(name).digest("hex")}.json`);
  // A cache, because a runner uses the same few names repeatedly. Files are replaced, never written.
  const known = new BoundedCache<KnownName>(MAX_KNOWN_BYTES, knownBytes);
  return {
    get(name) {
      const before = known.get(name);
      const path = before?.path ?? pathOf(name);
      const stamp = fileStamp(path);
      if (stamp === undefined) {
        known.delete(name);
        return undefined;
      }
      if (before?.stamp === stamp) return before.record;
      const record = readRecord(path) as NameRecord | undefined;
      known.set(name, { path, stamp, record });
      return record;
    },
    put: (record) => store.writeAtomically(pathOf(record.name), JSON.stringify(record)),
    remove: (name) => rmSync(pathOf(name), { force: true }),
    modifiedMs: (name) => statSync(pathOf(name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    list: () =>
      readdirSync(store.names)
        .map((file) => readRecord(join(store.names, file)) as NameRecord | undefined)
        .filter((record) => record !== undefined)
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function knownBytes({ path, stamp, record }: KnownName): number {
  if (record === undefined) return stringBytes([path, stamp]);
  const { name, target, manifests } = record;
  return stringBytes([path, stamp, name, target.digest, target.mediaType], Object.entries(manifests).flat());
}
