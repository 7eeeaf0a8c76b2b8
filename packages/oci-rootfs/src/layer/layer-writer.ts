import { type BytePath, splitEntryPath, splitLinkTarget, unsafe } from "./entry-path.ts";
import { finishDirectories } from "./finish-directories.ts";
import { LayerCounts } from "./layer-counts.ts";
import { LayerFiles } from "./layer-files.ts";
import type { LayerLimits } from "./layer-limits.ts";
import { assumedOf, IMPLIED_MODE, type UnpackedLayer } from "./layer-record.ts";
import {
  childPath,
  type LowerEntry,
  type LowerTree,
  makeRoot,
  type Steps,
  type TreeDirectory,
  type TreeNode,
  walk,
} from "./layer-tree.ts";
import type { LayerWriterOptions } from "./layer-writer-options.ts";
import type { LayerEntry } from "./tar-reader.ts";

const WHITEOUT = ".wh.";
/** Prefix of AUFS's internal files, of which only the opaque mark applies here (OCI image-spec, "Whiteouts"). */
const WHITEOUT_META = ".wh..wh.";
const OPAQUE = ".wh..wh..opq";

/** Bytes of the paths of opaque directories. All users of a layer read them. */
const MAX_OPAQUE_BYTES = 1024 * 1024;

/**
 * Applies one layer's entries, in order, to an empty directory. All calls are synchronous: most files are small, and a
 * promise for each costs more than the system call.
 */
export class LayerWriter {
  readonly #files: LayerFiles;
  readonly #limits: LayerLimits;
  readonly #lower: LowerTree | undefined;
  readonly #tree: TreeDirectory = makeRoot();
  readonly #whiteouts: Set<BytePath>;
  /** Opaque directories, as the layer names them. */
  readonly #marks: Set<BytePath>;
  #lowerLinks = false;
  readonly #counts: LayerCounts;

  constructor(options: LayerWriterOptions) {
    this.#files = new LayerFiles(options.root, options.owner);
    this.#limits = options.limits;
    this.#lower = options.lower;
    this.#counts = new LayerCounts(options.limits, options.maxNodes ?? Number.POSITIVE_INFINITY);
    this.#whiteouts = new Set(options.named?.whiteouts);
    this.#marks = new Set(options.named?.marks);
  }

  /** Whether the layer exceeds `maxNodes`. Further entries are ignored, so that another thread can unpack it. */
  get isTooLarge(): boolean {
    return this.#counts.isTooLarge;
  }

  /**
   * Adds the next entry. For a file with content, calls of `write` follow.
   *
   * @throws ImageError UnsafeLayer, or a system error
   */
  add(entry: LayerEntry): void {
    this.closeFile();
    this.#counts.addEntry();
    if (this.isTooLarge) return;
    const parts = splitEntryPath(entry.path, this.#limits);
    const name = parts.pop();
    if (name === undefined) {
      if (entry.kind !== "directory") throw unsafe("the layer's root is not a directory");
      Object.assign(this.#tree, { mode: entry.mode, mtime: entry.mtime, implied: false });
      return;
    }
    if (parts.some((part) => part.startsWith(WHITEOUT_META)) || (name.startsWith(WHITEOUT_META) && name !== OPAQUE))
      return;
    if (parts.some((part) => part.startsWith(WHITEOUT))) throw unsafe("a directory has a whiteout's name");
    if (name.startsWith(WHITEOUT) && name !== OPAQUE) {
      const hidden = name.slice(WHITEOUT.length);
      // `..` would delete the parent of the root.
      if (hidden === "" || hidden === "." || hidden === "..") throw unsafe("a whiteout that names no file");
      this.#name(this.#whiteouts, [...parts, hidden].join("/"));
      return;
    }
    if (name === OPAQUE) this.#name(this.#marks, parts.join("/"));
    else this.#put(this.#parent(parts), name, entry);
  }

  #name(paths: Set<BytePath>, path: BytePath): void {
    if (paths.has(path)) return;
    paths.add(path);
    this.#counts.addPath(path);
  }

  write(chunk: Uint8Array): void {
    this.#files.write(chunk);
  }

  /** Closes the current file, if there is one. */
  closeFile(): void {
    this.#files.closeFile();
  }

  /**
   * Creates the whiteouts, and sets the modes and times of directories. Returns undefined if the layer is too large.
   *
   * @param bytes of the unpacked archive, for the record
   */
  finish(bytes: number): UnpackedLayer | undefined {
    this.closeFile();
    const hollow: BytePath[] = [];
    for (const path of this.#marks) if (!this.isTooLarge) hollow.push(...this.#mark(path));
    const whiteouts: BytePath[] = [];
    let overlay = true;
    for (const path of this.#whiteouts) {
      if (this.isTooLarge) return undefined;
      const done = this.#whiteout(path);
      if (done === undefined) continue;
      whiteouts.push(done.path);
      overlay &&= done.made;
    }
    if (this.isTooLarge) return undefined;
    const { implied, opaque, supported } = finishDirectories(this.#tree, this.#files);
    if (opaque.reduce((sum, path) => sum + path.length, 0) > MAX_OPAQUE_BYTES)
      throw unsafe(`the paths of opaque directories have more than ${MAX_OPAQUE_BYTES} bytes`);
    const named = { whiteouts: [...this.#whiteouts], marks: [...this.#marks] };
    const paths = { implied, hollow, whiteouts, named };
    const { entries, nodes, pathBytes, fifos } = this.#counts;
    const record = {
      opaque,
      lowerLinks: this.#lowerLinks,
      overlay: overlay && supported,
      fifos,
      bytes,
      entries,
      nodes,
      pathBytes,
      assumed: assumedOf(paths),
    };
    return { record, paths };
  }

  /** The parent directory of an entry. Creates missing directories. */
  #parent(parts: readonly string[]): TreeDirectory {
    const steps: Steps = {
      missing: (directory, name) => this.#below(directory, name) ?? this.#imply(directory, name, IMPLIED_MODE),
    };
    const parent = walk(this.#tree, parts, steps);
    if (parent === undefined) throw unsafe("no parent directory");
    return parent;
  }

  /** The visible entry of the layers below. */
  #lowerEntry(directory: TreeDirectory, name: string): LowerEntry | undefined {
    const path = childPath(directory, name);
    if (this.#hidesLower(directory) || this.#whiteouts.has(path)) return undefined;
    return this.#lower?.lookup(path);
  }

  /** The visible link or directory of the layers below. Creates such a directory in this layer. */
  #below(directory: TreeDirectory, name: string): TreeNode | undefined {
    const below = this.#lowerEntry(directory, name);
    if (below?.kind === "symlink") return { kind: "symlink", target: below.target ?? "" };
    return below?.kind === "directory" ? this.#imply(directory, name, below.mode) : undefined;
  }

  #hidesLower(directory: TreeDirectory): boolean {
    for (let at: TreeDirectory | undefined = directory; at !== undefined; at = at.parent) {
      if (at.opaque || this.#marks.has(at.path) || (at.path !== "" && this.#whiteouts.has(at.path))) return true;
    }
    return false;
  }

  #imply(parent: TreeDirectory, name: string, mode: number): TreeDirectory {
    this.#counts.addImplied();
    const directory = this.#makeDirectory(parent, name);
    directory.mode = mode;
    return directory;
  }

  #makeDirectory(parent: TreeDirectory, name: string): TreeDirectory {
    const path = childPath(parent, name);
    // Symbolic links can make the resolved path longer than that of the entry.
    splitEntryPath(path, this.#limits);
    this.#files.createDirectory(path);
    const made: TreeDirectory = {
      kind: "directory",
      path,
      parent,
      children: new Map(),
      mode: IMPLIED_MODE,
      mtime: undefined,
      implied: true,
      opaque: false,
      renewed: false,
    };
    this.#add(parent, name, path, made);
    return made;
  }

  #add(parent: TreeDirectory, name: string, path: BytePath, node: TreeNode): void {
    this.#counts.addNode(path, node.kind);
    parent.children.set(name, node);
  }

  #put(parent: TreeDirectory, name: string, entry: LayerEntry): void {
    const path = childPath(parent, name);
    if (path.length > this.#limits.maxPathBytes)
      throw unsafe(`path of ${path.length} bytes, more than ${this.#limits.maxPathBytes}`);
    const before = parent.children.get(name);
    if (entry.kind === "directory") {
      let directory = before;
      if (directory?.kind !== "directory") {
        this.#remove(parent, name, before);
        directory = this.#makeDirectory(parent, name);
        // The layer's earlier entry has already replaced the lower one.
        if (before !== undefined) Object.assign(directory, { opaque: true, renewed: true });
      }
      // Archives may have directories after what is in them.
      if (before === directory && directory.implied) this.#counts.removeImplied();
      Object.assign(directory, { mode: entry.mode & 0o1777, mtime: entry.mtime, implied: false });
      return;
    }
    if (entry.kind === "link") {
      this.#link(parent, name, entry.target, before);
      return;
    }
    this.#remove(parent, name, before);
    if (entry.kind === "file") this.#files.createFile(path, entry);
    else if (entry.kind === "symlink") this.#files.createSymlink(path, entry.target, entry);
    else this.#files.createFifo(path, entry);
    const { kind } = entry;
    this.#add(parent, name, path, kind === "symlink" ? { kind, target: entry.target } : { kind });
    if (entry.kind === "file" && entry.size === 0) this.closeFile();
  }

  /** Removes an earlier entry of the same name: the last one wins. */
  #remove(parent: TreeDirectory, name: string, node: TreeNode | undefined): void {
    if (node === undefined) return;
    this.#files.remove(childPath(parent, name), node.kind === "directory" ? "directory" : "other");
    parent.children.delete(name);
  }

  #link(parent: TreeDirectory, name: string, target: BytePath, before: TreeNode | undefined): void {
    const parts = splitLinkTarget(target, this.#limits);
    const last = parts.pop();
    if (last === undefined) throw unsafe("hard link to the layer's root");
    const found = walk(this.#tree, parts, this.#peek);
    const own = found?.children.get(last);
    const path = childPath(parent, name);
    if (found !== undefined && own !== undefined) {
      if (own === before) return;
      if (own.kind === "directory") throw unsafe("hard link to a directory");
      for (let at: TreeDirectory | undefined = found; at !== undefined; at = at.parent)
        if (at === before) throw unsafe("hard link that replaces the directory of its own target");
      this.#remove(parent, name, before);
      this.#files.link(path, { own: childPath(found, last) });
      this.#add(parent, name, path, own);
      return;
    }
    if (this.#lower === undefined) {
      this.#lowerLinks = true;
      return;
    }
    const source = found === undefined ? undefined : this.#lowerEntry(found, last);
    if (source === undefined) throw unsafe("hard link to nothing");
    if (source.kind === "directory") throw unsafe("hard link to a directory");
    this.#remove(parent, name, before);
    // Unpacked layers never change, so they can share a file. A layer could demand 500,000 copies.
    this.#files.link(path, source);
    const kind = source.kind === "other" ? "fifo" : source.kind;
    this.#add(parent, name, path, kind === "symlink" ? { kind, target: source.target ?? "" } : { kind });
  }

  readonly #peek: Steps = { missing: (directory, name) => this.#peekBelow(directory, name) };

  /** As #below, without creating directories. */
  #peekBelow(directory: TreeDirectory, name: string): TreeNode | undefined {
    const below = this.#lowerEntry(directory, name);
    if (below?.kind === "symlink") return { kind: "symlink", target: below.target ?? "" };
    if (below?.kind !== "directory") return undefined;
    return { ...makeRoot(), path: childPath(directory, name), parent: directory };
  }

  /** Makes a directory opaque. @returns the directory if it was created only for that */
  #mark(path: BytePath): BytePath[] {
    const parts = path === "" ? [] : path.split("/");
    let blocked = false;
    const own = walk(this.#tree, parts, { missing: () => undefined, blocked: () => (blocked = true) });
    // A file of the layer hides the lower directory.
    if (blocked) return [];
    if (own !== undefined) {
      own.opaque = true;
      return [];
    }
    if (this.#isHidden(path) || this.#whiteouts.has(path)) return [];
    // A mark that hides nothing in the given layers must create nothing.
    if (this.#lower !== undefined && walk(this.#tree, parts, this.#peek) === undefined) return [];
    const directory = this.#parent(parts);
    directory.opaque = true;
    return [directory.path];
  }

  /** Whether this layer deletes or hides a parent of the path. Then nothing is left to hide or delete. */
  #isHidden(path: BytePath): boolean {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      const directory = path.slice(0, at);
      if (this.#whiteouts.has(directory) || this.#marks.has(directory)) return true;
    }
    return this.#marks.has("");
  }

  /**
   * Creates a whiteout.
   *
   * @returns undefined if none was needed, else its path and whether the file system supports it
   */
  #whiteout(path: BytePath): { path: BytePath; made: boolean } | undefined {
    const parts = path.split("/");
    const name = parts.pop() ?? "";
    if (this.#isHidden(path)) return undefined;
    let blocked = false;
    walk(this.#tree, parts, { missing: () => undefined, blocked: () => (blocked = true) });
    if (blocked) return undefined;
    // A whiteout that deletes nothing in the given layers must create nothing, not even its parents.
    if (this.#lower !== undefined) {
      const seen = walk(this.#tree, parts, this.#peek);
      if (
        seen === undefined ||
        (seen.children.get(name) === undefined && this.#lower.lookup(childPath(seen, name)) === undefined)
      )
        return undefined;
    }
    const parent = this.#parent(parts);
    const own = parent.children.get(name);
    if (own?.kind === "directory") {
      own.opaque = true;
      own.renewed = true;
    }
    if (own !== undefined) return undefined;
    for (let at: TreeDirectory | undefined = parent; at !== undefined; at = at.parent) if (at.opaque) return undefined;
    const hidden = childPath(parent, name);
    parent.children.set(name, { kind: "whiteout" });
    return { path: hidden, made: this.#files.createWhiteout(hidden) };
  }
}
