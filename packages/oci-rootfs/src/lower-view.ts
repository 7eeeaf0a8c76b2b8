import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { join } from "node:path";
import { MAX_LINKS_FOLLOWED } from "./layer-limits.ts";
import { type BytePath, systemPath } from "./layer-path.ts";
import type { LayerRecord } from "./layer-record.ts";
import type { LowerEntry, LowerTree } from "./layer-tree.ts";
import { readRecord } from "./store-directory.ts";

/** One unpacked layer as far as looking through it needs. */
export interface ViewedLayer {
  /** The directory with the layer's files. */
  readonly root: string;
  /** Directories that hide what is below them. */
  readonly opaque: ReadonlySet<BytePath>;
}

/**
 * Unpacked layers as one tree, by the rules of overlayfs. `layers` are bottom first.
 *
 * Symbolic links are never followed: each component is looked up by itself.
 */
export function lowerView(layers: readonly ViewedLayer[]): LowerTree {
  const topFirst = layers.toReversed();
  return {
    lookup(path) {
      for (const layer of topFirst) {
        const found = lookupInLayer(layer, path);
        if (found === "hidden") return undefined;
        if (found !== "absent") return found;
      }
      return undefined;
    },
  };
}

function lookupInLayer(layer: ViewedLayer, path: BytePath): LowerEntry | "absent" | "hidden" {
  const parts = path.split("/");
  let prefix = "";
  let hidden = layer.opaque.has("");
  for (const [i, part] of parts.entries()) {
    prefix = i === 0 ? part : `${prefix}/${part}`;
    const source = systemPath(layer.root, prefix);
    const stats = lstatSync(source, { throwIfNoEntry: false });
    if (stats === undefined) return hidden ? "hidden" : "absent";
    if (isWhiteout(stats)) return "hidden";
    if (i === parts.length - 1) return describe(stats, source);
    // A file or link hides whatever lower layers have below its name.
    if (!stats.isDirectory()) return "hidden";
    hidden ||= layer.opaque.has(prefix);
  }
  return "absent";
}

export function isWhiteout(stats: Stats): boolean {
  return stats.isCharacterDevice() && stats.rdev === 0;
}

function describe(stats: Stats, source: string | Buffer): LowerEntry {
  const mode = stats.mode & 0o7777;
  if (stats.isDirectory()) return { kind: "directory", mode, source };
  if (stats.isFile()) return { kind: "file", mode, source };
  if (stats.isSymbolicLink()) return { kind: "symlink", mode, source, target: readlinkSync(source, "latin1") };
  return { kind: "other", mode, source };
}

/** Layers of an image, by their directories. What cannot be seen in a directory is in the record beside it. */
export function readLayerRecord(root: string): LayerRecord | undefined {
  return readRecord(join(root, "..", "layer.json")) as LayerRecord | undefined;
}

/** The tree of an image whose layers are in these directories, bottom first. */
export function imageTree(layers: readonly string[]): LowerTree {
  return lowerView(layers.map((root) => ({ root, opaque: new Set(readLayerRecord(root)?.opaque) })));
}

/** What is at a path, following links as a process inside the tree would. Undefined where there is nothing. */
export function resolveInTree(tree: LowerTree, path: BytePath): LowerEntry | undefined {
  const done: string[] = [];
  const rest = path.split("/").reverse();
  let followed = 0;
  let found: LowerEntry | undefined;
  for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      done.pop();
      continue;
    }
    found = tree.lookup([...done, name].join("/"));
    if (found?.kind === "symlink") {
      followed += 1;
      if (followed > MAX_LINKS_FOLLOWED) return undefined;
      const target = found.target ?? "";
      if (target.startsWith("/")) done.length = 0;
      rest.push(...target.split("/").reverse());
    } else if (found?.kind === "directory" || (found !== undefined && rest.length === 0)) {
      done.push(name);
    } else {
      return undefined;
    }
  }
  return found;
}
