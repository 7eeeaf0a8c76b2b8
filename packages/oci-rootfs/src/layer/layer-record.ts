import type { BytePath } from "./entry-path.ts";
import type { LowerTree } from "./layer-tree.ts";

/**
 * The record beside an unpacked layer. It decides whether the directory, which was unpacked without the layers below,
 * is correct on top of given ones.
 */
export interface LayerRecord {
  /** Directories that only a path implies, parents first, and that merge with lower ones. */
  readonly implied: readonly BytePath[];
  /** Directories that exist only to hide lower ones. */
  readonly hollow: readonly BytePath[];
  /** Paths that are deleted from the layers below. */
  readonly whiteouts: readonly BytePath[];
  /** Directories that hide the layers below. "" is the root. */
  readonly opaque: readonly BytePath[];
  /** The deleted and hidden paths as the entries name them, before links of lower layers are resolved. */
  readonly named: { readonly whiteouts: readonly BytePath[]; readonly marks: readonly BytePath[] };
  /** Whether the target of a hard link is not in this layer. */
  readonly lowerLinks: boolean;
  /**
   * False if the file system does not support whiteouts or opaque marks, so that overlayfs would show deleted files.
   */
  readonly overlay: boolean;
  /** Bytes of the unpacked archive. */
  readonly bytes: number;
  readonly entries: number;
}

/** Whether a value is a record of this version; an older or newer version may have written it. */
export function isLayerRecord(value: unknown): value is LayerRecord {
  if (typeof value !== "object" || value === null) return false;
  const record: Partial<Record<string, unknown>> = { ...value };
  return (
    ["implied", "hollow", "whiteouts", "opaque"].every((field) => Array.isArray(record[field])) &&
    ["lowerLinks", "overlay"].every((field) => typeof record[field] === "boolean") &&
    typeof record["named"] === "object"
  );
}

/** The mode of an implied directory without a lower one. */
export const IMPLIED_MODE = 0o755;

/**
 * Whether a layer that was unpacked alone is correct on top of `lower`. It is not if
 * - a path passes through a lower symbolic link: with `lib -> usr/lib` below, `lib/b` would hide all of `usr/lib`;
 * - an implied directory would hide a lower one's mode, such as that of `/tmp`;
 * - a whiteout deletes nothing: overlayfs shows the device in a directory that it does not merge;
 * - an opaque mark hides nothing;
 * - a hard link's target is a lower file.
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
