import { type BytePath, unsafe } from "./entry-path.ts";
import { MAX_LINKS_FOLLOWED, MAX_STEPS_PER_PATH } from "./layer-limits.ts";

/**
 * The content of a layer that is being unpacked. Only the unpacking process can access the directory on disk, so this
 * tree matches it. Paths are resolved in the tree, never by the kernel, and so cannot leave the root.
 */
export type TreeNode = TreeDirectory | TreeLeaf;

export interface TreeDirectory {
  readonly kind: "directory";
  readonly path: BytePath;
  readonly parent: TreeDirectory | undefined;
  readonly children: Map<string, TreeNode>;
  /** Final permission bits. */
  mode: number;
  /** Seconds; undefined for the time of unpacking. */
  mtime: number | undefined;
  /** Only implied by a path, without an entry: a lower directory decides its mode. */
  implied: boolean;
  /** Hides everything from lower layers. */
  opaque: boolean;
  /** Replaces a deleted path of a lower layer, so that not even its mode applies. */
  renewed: boolean;
}

export type TreeLeaf =
  | { readonly kind: "file" | "fifo" | "whiteout" }
  | { readonly kind: "symlink"; readonly target: BytePath };

/** A file or directory in the layers below. */
export interface LowerEntry {
  readonly kind: "directory" | "file" | "symlink" | "other";
  /** Permission bits. */
  readonly mode: number;
  /** Target of a symbolic link. */
  readonly target?: BytePath;
  /** The path on disk. */
  readonly source: string | Buffer;
}

/** The merged view of the layers below. */
export interface LowerTree {
  /** Only the last component may be a symbolic link: callers resolve component by component. */
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

/** Callbacks of `walk`, which differ for creating and for looking up a path. */
export interface Steps {
  /**
   * Called for a child that is not in this layer. Returns a directory or link to continue with, or undefined to stop.
   */
  missing(directory: TreeDirectory, name: string): TreeNode | undefined;
  /** Called for a parent that is not a directory and for a loop of links; by default the layer is rejected. */
  blocked?(): void;
}

/**
 * Walks from the root along `parts` and follows links like a process with this root: absolute targets start at the
 * root, and `..` stops there.
 *
 * @returns the directory, or undefined if `missing` returned undefined
 * @throws ImageError UnsafeLayer for a loop of links, or a parent that is not a directory
 */
export function walk(root: TreeDirectory, parts: readonly string[], steps: Steps): TreeDirectory | undefined {
  const block = (why: string): undefined => {
    if (steps.blocked === undefined) throw unsafe(why);
    steps.blocked();
  };
  let directory = root;
  let followed = 0;
  let visited = 0;
  const rest = parts.toReversed();
  for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
    visited += 1;
    if (visited > MAX_STEPS_PER_PATH) throw unsafe("too many names in the resolved path");
    if (name === "" || name === ".") continue;
    if (name === "..") {
      directory = directory.parent ?? root;
      continue;
    }
    const own = directory.children.get(name);
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
