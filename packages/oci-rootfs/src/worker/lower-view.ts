import { type Dirent, lstatSync, readdirSync, readlinkSync, type Stats } from "node:fs";
import { type BytePath, systemPath } from "../layer/entry-path.ts";
import { MAX_LINKS_FOLLOWED, MAX_STEPS_PER_PATH } from "../layer/layer-limits.ts";
import type { LowerEntry, LowerTree } from "../layer/layer-tree.ts";
import { readLayerRecord } from "./layer-record-files.ts";

/** An unpacked layer of a merged view. */
export interface ViewedLayer {
  /** The directory with the layer's files. */
  readonly root: string;
  /** Directories that hide lower ones. */
  readonly opaque: ReadonlySet<BytePath>;
}

/**
 * After this many lookups of single names, the directory is listed. Otherwise 500,000 whiteouts on 256 layers would
 * need a system call for each layer and whiteout.
 */
const LOOK_UPS_BEFORE_LISTING = 32;

/** A directory that is merged from several layers. */
interface MergedDirectory {
  /** The directories, topmost first, down to one that hides those below. */
  readonly sources: { readonly layer: ViewedLayer; readonly at: string | Buffer }[];
  readonly path: BytePath;
  readonly known: Map<string, MergedNode | undefined>;
  listed: boolean;
  readonly mayList: boolean;
}

type MergedNode = MergedDirectory | { readonly source: string | Buffer };

/**
 * Merges unpacked layers by the rules of overlayfs. `layers` are bottom first. Lookups are cached, because layers never
 * change. The view lives only while one image is prepared.
 *
 * Never follows symbolic links: looks up each component separately.
 *
 * @param mayList whether directories may be listed; one can have millions of names, so only workers may
 */
export function lowerView(layers: readonly ViewedLayer[], mayList = true): LowerTree {
  const root: MergedDirectory = { sources: [], path: "", known: new Map(), listed: false, mayList };
  for (const layer of layers.toReversed()) {
    root.sources.push({ layer, at: systemPath(layer.root, "") });
    if (layer.opaque.has("")) break;
  }
  return {
    lookup(path) {
      let node: MergedNode | undefined = root;
      for (const name of path.split("/")) {
        // A file or link has no children.
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
  if (directory.mayList && known.size >= LOOK_UPS_BEFORE_LISTING) {
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

/** The target of a link may be longer than any file name. Then it does not exist. */
function statsOf(path: string | Buffer): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENAMETOOLONG") return undefined;
    throw error;
  }
}

type Kind = "directory" | "whiteout" | "other";

/** The only devices in unpacked layers are whiteouts. */
function kindOf(entry: Dirent | Stats): Kind {
  if (entry.isDirectory()) return "directory";
  return entry.isCharacterDevice() ? "whiteout" : "other";
}

/** Merges the entries of one name, which have these kinds in the directory's sources. */
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
  const { mayList } = directory;
  return sources.length === 0 ? undefined : { sources, path, known: new Map(), listed: false, mayList };
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

/** The merged view of an image's layers, given as directories, bottom first. */
export function imageTree(layers: readonly string[], mayList = true): LowerTree {
  return lowerView(
    layers.map((root) => ({ root, opaque: new Set(readLayerRecord(root)?.opaque) })),
    mayList,
  );
}

/** Resolves a path, with symbolic links as for a process inside the tree. Undefined if it does not exist. */
export function resolveInTree(tree: LowerTree, path: BytePath): LowerEntry | undefined {
  const done: string[] = [];
  const rest = path.split("/").reverse();
  let followed = 0;
  let visited = 0;
  let found: LowerEntry | undefined;
  for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
    visited += 1;
    if (visited > MAX_STEPS_PER_PATH) return undefined;
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
