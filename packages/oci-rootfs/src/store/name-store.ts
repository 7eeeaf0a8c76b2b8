import { createHash } from "node:crypto";
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileStamp } from "../base/file-stamp.ts";
import type { Descriptor } from "../image/manifest.ts";
import { readRecord, type StoreDirectory } from "./store-directory.ts";

/** What the store knows by a name. */
export interface NameRecord {
  readonly name: string;
  /** What the name stands for: a manifest, or an index of several. */
  readonly target: Pick<Descriptor, "mediaType" | "digest" | "size">;
  /** The manifests that were made ready, by platform (`linux/amd64`). */
  readonly manifests: Readonly<Record<string, string>>;
  /** Made here (`xfn build`) and not at a registry: there is nothing to ask whether it is current. */
  readonly built: boolean;
}

/** Names of images, one small file each, so that processes need no lock. */
export interface NameStore {
  get(name: string): NameRecord | undefined;
  put(record: NameRecord): void;
  remove(name: string): void;
  /** When the name was last given to something; 0 for an unknown one. */
  modifiedMs(name: string): number;
  list(): NameRecord[];
}

// More names than that in use at once: all are read again.
const MAX_KNOWN = 1_000;

export function nameStore(store: StoreDirectory): NameStore {
  // A name has slashes and may be longer than a file's name: its hash is neither.
  const pathOf = (name: string): string => join(store.names, `${createHash("sha256").update(name).digest("hex")}.json`);
  // A runner asks for the same few names again and again. A file is never written to: another one takes its place.
  const known = new Map<string, { path: string; stamp: string; record: NameRecord | undefined }>();
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
      if (known.size === MAX_KNOWN) known.clear();
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
