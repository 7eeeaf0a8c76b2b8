import type { BytePath } from "./entry-path.ts";
import type { LowerTree } from "./layer-tree.ts";

/**
 * What is kept beside an unpacked layer: whatever decides if the directory, which was unpacked without knowing the
 * layers below, looks right on top of given ones.
 */
export interface LayerRecord {
  /** Directories without an entry of their own, parents first, where one below this layer would show through. */
  readonly implied: readonly BytePath[];
  /** Directories that are there only to hide what is below them. */
  readonly hollow: readonly BytePath[];
  /** Names that are deleted from the layers below. */
  readonly whiteouts: readonly BytePath[];
  /** Directories that hide the layers below. "" is the root. */
  readonly opaque: readonly BytePath[];
  /** What the layer deletes and hides, as its entries name it: wherever that is, once the layers below are known. */
  readonly named: { readonly whiteouts: readonly BytePath[]; readonly marks: readonly BytePath[] };
  /** Some hard link's target is not in this layer. */
  readonly lowerLinks: boolean;
  /** False where the file system could hold neither whiteouts nor marks: overlayfs must not be used on it. */
  readonly overlay: boolean;
  /** Bytes of the unpacked archive. */
  readonly bytes: number;
  readonly entries: number;
}

/** Whether JSON from beside a layer is a record as this version writes it: the store may be older, or newer. */
export function isLayerRecord(value: unknown): value is LayerRecord {
  if (typeof value !== "object" || value === null) return false;
  const record: Partial<Record<string, unknown>> = { ...value };
  return (
    ["implied", "hollow", "whiteouts", "opaque"].every((field) => Array.isArray(record[field])) &&
    ["lowerLinks", "overlay"].every((field) => typeof record[field] === "boolean") &&
    typeof record["named"] === "object"
  );
}

/** The mode that an implied directory gets when nothing is known about it. */
export const IMPLIED_MODE = 0o755;

/**
 * Whether a layer that was unpacked by itself may stand on `lower`. It may not where a path leads through a lower
 * layer's symbolic link (`lib -> usr/lib` below, `lib/b` here: overlayfs would hide all of `usr/lib`), where an
 * implied directory would hide a lower one's mode (`/tmp`), where a whiteout deletes nothing (overlayfs shows such a
 * device in a directory that it need not merge), where a mark hides nothing, and where a hard link leads to a lower file.
 */
export function fitsOn(record: LayerRecord, lower: LowerTree): boolean {
  if (record.lowerLinks) return false;
  for (const path of record.implied) {
    const below = lower.lookup(path);
    if (below?.kind === "symlink") return false;
    if (below?.kind === "directory" && below.mode !== IMPLIED_MODE) return false;
  }
  if (!record.hollow.every((path) => lower.lookup(path)?.kind === "directory")) return false;
  return record.whiteouts.every((path) => lower.lookup(path) !== undefined);
}
