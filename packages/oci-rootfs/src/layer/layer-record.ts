import type { BytePath } from "./entry-path.ts";
import type { LowerTree } from "./layer-tree.ts";

/** The record of an unpacked layer. It is small, so that any thread can read it. */
export interface LayerRecord {
  /** Directories that hide the layers below. "" is the root. */
  readonly opaque: readonly BytePath[];
  /** Whether the target of a hard link is not in this layer. */
  readonly lowerLinks: boolean;
  /**
   * False if the file system does not support whiteouts or opaque marks, so that overlayfs would show deleted files.
   */
  readonly overlay: boolean;
  /** Whether the directory may contain a FIFO. Older versions did not record it. */
  readonly fifos?: boolean;
  /** Bytes of the unpacked archive. */
  readonly bytes: number;
  readonly entries: number;
  /** Files, directories and links, including implied directories. */
  readonly nodes: number;
  /** Bytes of the paths of all nodes. */
  readonly pathBytes: number;
  /** The number of paths in `LayerPaths`, and their bytes. */
  readonly assumed: { readonly paths: number; readonly bytes: number };
}

/**
 * The paths of a layer that depend on the layers below. They decide whether its directory, which was unpacked without
 * those layers, is correct on top of given ones. A layer can have many, so they are in a file of their own.
 */
export interface LayerPaths {
  /** Directories that only a path implies, parents first, and that merge with lower ones. */
  readonly implied: readonly BytePath[];
  /** Directories that exist only to hide lower ones. */
  readonly hollow: readonly BytePath[];
  /** Paths that are deleted from the layers below. */
  readonly whiteouts: readonly BytePath[];
  /** The deleted and hidden paths as the entries name them, before links of lower layers are resolved. */
  readonly named: { readonly whiteouts: readonly BytePath[]; readonly marks: readonly BytePath[] };
}

export interface UnpackedLayer {
  readonly record: LayerRecord;
  readonly paths: LayerPaths;
}

/** Whether a value is a record of this version; an older or newer version may have written it. */
export function isLayerRecord(value: unknown): value is LayerRecord {
  if (typeof value !== "object" || value === null) return false;
  const record: Partial<Record<string, unknown>> = { ...value };
  return (
    Array.isArray(record["opaque"]) &&
    ["lowerLinks", "overlay"].every((field) => typeof record[field] === "boolean") &&
    ["bytes", "entries", "nodes", "pathBytes"].every((field) => typeof record[field] === "number") &&
    typeof record["assumed"] === "object"
  );
}

/** Whether a value has the paths of a layer. Records of older versions contain them too. */
export function hasLayerPaths(value: unknown): value is LayerPaths {
  if (typeof value !== "object" || value === null) return false;
  const paths: Partial<Record<string, unknown>> = { ...value };
  return (
    ["implied", "hollow", "whiteouts"].every((field) => Array.isArray(paths[field])) &&
    typeof paths["named"] === "object"
  );
}

/** Counts the paths for the record. */
export function assumedOf({ implied, hollow, whiteouts, named }: LayerPaths): LayerRecord["assumed"] {
  let paths = 0;
  let bytes = 0;
  for (const list of [implied, hollow, whiteouts, named.whiteouts, named.marks]) {
    paths += list.length;
    for (const path of list) bytes += path.length;
  }
  return { paths, bytes };
}

/** The mode of an implied directory without a lower one. */
export const IMPLIED_MODE = 0o755;

/**
 * Whether a layer that was unpacked alone is correct on top of `lower`. It is not correct if
 * - a path passes through a lower symbolic link: with `lib -> usr/lib` below, `lib/b` would hide all of `usr/lib`;
 * - an implied directory would hide a lower one's mode, such as that of `/tmp`;
 * - a whiteout deletes nothing: overlayfs shows the device in a directory that it does not merge;
 * - an opaque mark hides nothing;
 * - a hard link's target is a lower file (`LayerRecord.lowerLinks`).
 */
export function fitsOn(paths: LayerPaths, lower: LowerTree): boolean {
  for (const path of paths.implied) {
    const below = lower.lookup(path);
    if (below?.kind === "symlink") return false;
    if (below?.kind === "directory" && below.mode !== IMPLIED_MODE) return false;
  }
  if (!paths.hollow.every((path) => lower.lookup(path)?.kind === "directory")) return false;
  return paths.whiteouts.every((path) => lower.lookup(path) !== undefined);
}
