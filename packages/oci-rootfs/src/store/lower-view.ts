import { type Dirent, lstatSync, readdirSync, readlinkSync, type Stats } from "node:fs";
import { join } from "node:path";
import { type BytePath, systemPath } from "../layer/entry-path.ts";
import { MAX_LINKS_FOLLOWED, MAX_STEPS_PER_PATH } from "../layer/layer-limits.ts";
import type { LayerRecord } from "../layer/layer-record.ts";
import type { LowerEntry, LowerTree } from "../layer/layer-tree.ts";
import { readRecord } from "./store-directory.ts";

/** One unpacked layer as far as looking through it needs. */
export interface ViewedLayer {
  /** The directory with the layer's files. */
  readonly root: string;
  /** Directories that hide what is below them. */
  readonly opaque: ReadonlySet<BytePath>;
}

/**
 * Names of a directory that are asked for one by one; for more the directory is read. Without that, 500,000 whiteouts
 * on 256 layers would cost a system call for each layer and whiteout.
 */
const LOOK_UPS_BEFORE_LISTING = 32;

/** A directory of several layers, seen as one. */
interface MergedDirectory {
  /** Where it is, topmost first, down to where something hides what is below. */
  readonly sources: { readonly layer: ViewedLayer; readonly at: string | Buffer }[];
  readonly path: BytePath;
  readonly known: Map<string, MergedNode | undefined>;
  listed: boolean;
}

type MergedNode = MergedDirectory | { readonly source: string | Buffer };

/**
 * Unpacked layers as one tree, by the rules of overlayfs. `layers` are bottom first. What was seen is kept: the layers do
 * not change, and the view lives as long as one image is put together.
 *
 * Symbolic links are never followed: each component is looked up by itself.
 */
export function lowerView(layers: readonly ViewedLayer[]): LowerTree {
  const root: MergedDirectory = { sources: [], path: "", known: new Map(), listed: false };
  for (const layer of layers.toReversed()) {
    root.sources.push({ layer, at: systemPath(layer.root, "") });
    if (layer.opaque.has("")) break;
  }
  return {
    lookup(path) {
      let node: MergedNode | undefined = root;
      for (const name of path.split("/")) {
        // A file or link has nothing below its name.
        if (!("sources" in node)) return undefined;
        node = child(node, name);
        if (node === undefined) return undefined;
      }
      return describe("sources" in node ? (node.sources[0]?.at ?? "") : node.source);
    },
  };
}

function child(directory: MergedDirectory, name: string): MergedNode | undefined {
  const { known } = directory;
  if (directory.listed || known.has(name)) return known.get(name);
  if (known.size >= LOOK_UPS_BEFORE_LISTING) {
    list(directory);
    return known.get(name);
  }
  const found: (Kind | undefined)[] = directory.sources.map(({ layer }) => {
    const stats = statsOf(systemPath(layer.root, childOf(directory, name)));
    return stats === undefined ? undefined : kindOf(stats);
  });
  const node = merge(directory, name, found);
  known.set(name, node);
  return node;
}

function list(directory: MergedDirectory): void {
  const names = new Map<string, (Kind | undefined)[]>();
  for (const [i, { at }] of directory.sources.entries()) {
    for (const entry of readdirSync(at, { withFileTypes: true, encoding: "latin1" })) {
      const kinds = names.get(entry.name) ?? [];
      kinds[i] = kindOf(entry);
      names.set(entry.name, kinds);
    }
  }
  directory.listed = true;
  for (const [name, kinds] of names) directory.known.set(name, merge(directory, name, kinds));
}

/** A link may lead to a name that no file system has: there is nothing of that name. */
function statsOf(path: string | Buffer): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENAMETOOLONG") return undefined;
    throw error;
  }
}

type Kind = "directory" | "whiteout" | "other";

/** Layers hold no devices but those that we have made: whiteouts. */
function kindOf(entry: Dirent | Stats): Kind {
  if (entry.isDirectory()) return "directory";
  return entry.isCharacterDevice() ? "whiteout" : "other";
}

/** What shows of a name that has these kinds in the directory's sources. */
function merge(directory: MergedDirectory, name: string, kinds: readonly (Kind | undefined)[]): MergedNode | undefined {
  const path = childOf(directory, name);
  const sources: MergedDirectory["sources"] = [];
  for (const [i, { layer }] of directory.sources.entries()) {
    const kind = kinds[i];
    if (kind === undefined) continue;
    const at = systemPath(layer.root, path);
    if (kind === "other" && sources.length === 0) return { source: at };
    if (kind !== "directory") break;
    sources.push({ layer, at });
    if (layer.opaque.has(path)) break;
  }
  return sources.length === 0 ? undefined : { sources, path, known: new Map(), listed: false };
}

function childOf({ path }: MergedDirectory, name: string): BytePath {
  return path === "" ? name : `${path}/${name}`;
}

function describe(source: string | Buffer): LowerEntry | undefined {
  const stats = lstatSync(source, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
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
  let looked = 0;
  let found: LowerEntry | undefined;
  for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
    looked += 1;
    if (looked > MAX_STEPS_PER_PATH) return undefined;
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
