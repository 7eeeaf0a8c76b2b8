import { type BytePath, unsafe } from "./entry-path.ts";
import { MAX_LINKS_FOLLOWED, MAX_STEPS_PER_PATH } from "./layer-limits.ts";

/**
 * What a layer holds, as far as it is unpacked. The directory on disk is private to the one who unpacks, so this tree
 * is the truth about it: paths are resolved here, by name and inside the root, and never by the kernel.
 */
export type TreeNode = TreeDirectory | TreeLeaf;

export interface TreeDirectory {
  readonly kind: "directory";
  readonly path: BytePath;
  readonly parent: TreeDirectory | undefined;
  readonly children: Map<string, TreeNode>;
  /** Permission bits that the directory gets in the end. */
  mode: number;
  /** Seconds; undefined leaves the time of unpacking. */
  mtime: number | undefined;
  /** No entry of its own, only implied by a path: what it is below this layer decides how it looks. */
  implied: boolean;
  /** Nothing from lower layers shows. */
  opaque: boolean;
  /** The layer deletes what lower layers have in its place: not even that one's mode counts. */
  renewed: boolean;
}

export type TreeLeaf =
  | { readonly kind: "file" | "fifo" | "whiteout" }
  | { readonly kind: "symlink"; readonly target: BytePath };

/** What stands at a path in the layers below. */
export interface LowerEntry {
  readonly kind: "directory" | "file" | "symlink" | "other";
  /** Permission bits. */
  readonly mode: number;
  /** Of a symbolic link. */
  readonly target?: BytePath;
  /** Where it is on disk. */
  readonly source: string | Buffer;
}

/** The layers below, seen as one. */
export interface LowerTree {
  /** No component but the last may be a link: callers resolve component by component. */
  lookup(path: BytePath): LowerEntry | undefined;
}

export function makeRoot(): TreeDirectory {
  return {
    kind: "directory",
    path: "",
    parent: undefined,
    children: new Map(),
    mode: 0o755,
    mtime: undefined,
    implied: true,
    opaque: false,
    renewed: false,
  };
}

export function childPath(directory: TreeDirectory, name: string): BytePath {
  return directory.path === "" ? name : `${directory.path}/${name}`;
}

/** What is done on the way, by those who unpack and those who only look. */
export interface Steps {
  /** The child is not in this layer: a node for it (a directory, or a link to follow), or undefined to give up. */
  missing(directory: TreeDirectory, name: string): TreeNode | undefined;
  /** Whether links of this layer may be followed; default yes. */
  refuseLinks?: boolean;
  /** Something that is no directory, or a loop of links, is on the way: default is to refuse the layer. */
  blocked?(): void;
}

/**
 * Walks from the root along `parts`, following links as a process inside the root would: absolute targets start at
 * the root and `..` stops there.
 *
 * @returns the directory, or undefined where `missing` gave up
 * @throws ImageError UnsafeLayer for a loop or a parent that is no directory
 */
export function walk(root: TreeDirectory, parts: readonly string[], steps: Steps): TreeDirectory | undefined {
  const block = (why: string): undefined => {
    if (steps.blocked === undefined) throw unsafe(why);
    steps.blocked();
  };
  let directory = root;
  let followed = 0;
  let looked = 0;
  const rest = parts.toReversed();
  for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
    looked += 1;
    if (looked > MAX_STEPS_PER_PATH) throw unsafe("too many names on the way");
    if (name === "" || name === ".") continue;
    if (name === "..") {
      directory = directory.parent ?? root;
      continue;
    }
    const own = directory.children.get(name);
    if (own?.kind === "symlink" && steps.refuseLinks) throw unsafe("leads through a symbolic link");
    const node = own ?? steps.missing(directory, name);
    if (node === undefined) return undefined;
    if (node.kind === "directory") {
      directory = node;
    } else if (node.kind === "symlink") {
      followed += 1;
      if (followed > MAX_LINKS_FOLLOWED) return block("too many symbolic links on the way");
      if (node.target.startsWith("/")) directory = root;
      rest.push(...node.target.split("/").reverse());
    } else {
      return block(`${JSON.stringify(childPath(directory, name))} on the way is not a directory`);
    }
  }
  return directory;
}
