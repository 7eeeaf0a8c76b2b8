import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { type BytePath, splitEntryPath, systemPath, unsafe } from "./entry-path.ts";
import type { LayerLimits } from "./layer-limits.ts";
import { IMPLIED_MODE, type LayerRecord } from "./layer-record.ts";
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
import { linuxCalls } from "./linux-calls.ts";
import type { LayerEntry } from "./tar-reader.ts";

/** Who is to own every file; ids in the layer itself are never used. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface LayerWriterOptions {
  /** The directory to fill: it must not exist, and its parent must be ours alone. */
  root: string;
  limits: LayerLimits;
  owner: Owner | undefined;
  /**
   * The layers below, if the layer is unpacked for one place in one image. Without it the layer is unpacked as it
   * would look on an empty root, and the record says what that assumed.
   */
  lower: LowerTree | undefined;
  /**
   * What the layer deletes and hides, if it has been read before: it counts for entries that come earlier in the archive, too
   * (OCI image-spec, "Whiteouts").
   */
  named: LayerRecord["named"] | undefined;
}

const WHITEOUT = ".wh.";
/** AUFS' own files; of them only the opaque mark has a meaning elsewhere (OCI image-spec, "Whiteouts"). */
const WHITEOUT_META = ".wh..wh.";
const OPAQUE = ".wh..wh..opq";

/** utimes(2) of hostile times: clamp to what every file system can hold. */
const MAX_TIME = 2 ** 32 - 1;

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Applies one layer's entries, in order, to an empty directory. All calls are synchronous: a layer is mostly small
 * files, and a promise for each costs more than the system call.
 */
export class LayerWriter {
  readonly #root: string;
  readonly #limits: LayerLimits;
  readonly #owner: Owner | undefined;
  readonly #lower: LowerTree | undefined;
  readonly #umask: number;
  /**
   * Root reads everything; another user could not copy, look through or compare what has a mode such as 0000 (`/etc/shadow` of
   * some distributions), so the owner may always read, here and in the container.
   */
  readonly #readable: number = process.geteuid?.() === 0 ? 0 : 0o400;
  readonly #tree: TreeDirectory = makeRoot();
  readonly #whiteouts: Set<BytePath>;
  /** Directories that are to hide what is below them, as the layer names them. */
  readonly #marks: Set<BytePath>;
  #lowerLinks = false;
  #nodes = 0;
  #entries = 0;
  #file: { descriptor: number; mtime: number } | undefined;

  constructor(options: LayerWriterOptions) {
    this.#root = options.root;
    this.#limits = options.limits;
    this.#lower = options.lower;
    this.#whiteouts = new Set(options.named?.whiteouts);
    this.#marks = new Set(options.named?.marks);
    // What is already ours need not be given to us.
    const own = options.owner?.uid === process.geteuid?.() && options.owner?.gid === process.getegid?.();
    this.#owner = own ? undefined : options.owner;
    mkdirSync(this.#root, 0o777);
    this.#umask = 0o777 & ~lstatSync(this.#root).mode;
    chmodSync(this.#root, 0o700);
  }

  /**
   * Takes the next entry. For a file with content, `write` follows until the next entry or the end.
   *
   * @throws ImageError UnsafeLayer, or the system's error
   */
  add(entry: LayerEntry): void {
    this.closeFile();
    this.#entries += 1;
    if (this.#entries > this.#limits.maxEntries) throw unsafe(`more than ${this.#limits.maxEntries} entries`);
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
      // The Go reference deletes the parent of its root for the last of these.
      if (hidden === "" || hidden === "." || hidden === "..") throw unsafe("a whiteout that names no file");
      this.#whiteouts.add([...parts, hidden].join("/"));
      return;
    }
    if (name === OPAQUE) this.#marks.add(parts.join("/"));
    else this.#put(this.#parent(parts), name, entry);
  }

  write(chunk: Uint8Array): void {
    const { descriptor } = this.#file ?? {};
    if (descriptor === undefined) return;
    for (let offset = 0; offset < chunk.length; ) offset += writeSync(descriptor, chunk, offset);
  }

  /** Finishes the file in hand; harmless if there is none. */
  closeFile(): void {
    const file = this.#file;
    if (file === undefined) return;
    this.#file = undefined;
    try {
      futimesSync(file.descriptor, file.mtime, file.mtime);
    } finally {
      closeSync(file.descriptor);
    }
  }

  /** Makes the whiteouts, gives directories their modes and times, and says what the layer assumed. */
  finish(bytes: number): LayerRecord {
    this.closeFile();
    const hollow: BytePath[] = [];
    for (const path of this.#marks) hollow.push(...this.#mark(path));
    const whiteouts: BytePath[] = [];
    let overlay = true;
    for (const path of this.#whiteouts) {
      const done = this.#whiteout(path);
      if (done === undefined) continue;
      whiteouts.push(done.path);
      overlay &&= done.made;
    }
    const implied: BytePath[] = [];
    const opaque: BytePath[] = [];
    const finishDirectory = (directory: TreeDirectory, hidden: boolean): void => {
      if (directory.implied && directory.path !== "" && !hidden && !directory.renewed) implied.push(directory.path);
      if (directory.opaque) {
        opaque.push(directory.path);
        // overlayfs always merges roots: there the record's word counts, and lower layers are left out.
        if (directory.path !== "")
          overlay = attempt(() => linuxCalls().markOpaque(this.#at(directory.path))) && overlay;
      }
      for (const child of directory.children.values())
        if (child.kind === "directory") finishDirectory(child, hidden || directory.opaque);
      // Last: a directory that we may no longer search, or write, is done with.
      this.#finishDirectory(directory);
    };
    finishDirectory(this.#tree, false);
    const named = { whiteouts: [...this.#whiteouts], marks: [...this.#marks] };
    const lowerLinks = this.#lowerLinks;
    return { implied, hollow, whiteouts, opaque, named, lowerLinks, overlay, bytes, entries: this.#entries };
  }

  #at(path: BytePath): string | Buffer {
    return systemPath(this.#root, path);
  }

  /** The directory that an entry goes into; what is missing on the way is made. */
  #parent(parts: readonly string[]): TreeDirectory {
    const steps: Steps = {
      missing: (directory, name) => this.#below(directory, name) ?? this.#imply(directory, name, IMPLIED_MODE),
    };
    const parent = walk(this.#tree, parts, steps);
    if (parent === undefined) throw unsafe("no parent directory");
    return parent;
  }

  /** What of the layers below shows under the name. */
  #lowerEntry(directory: TreeDirectory, name: string): LowerEntry | undefined {
    const path = childPath(directory, name);
    if (this.#hidesLower(directory) || this.#whiteouts.has(path)) return undefined;
    return this.#lower?.lookup(path);
  }

  /** What the layers below have under the name: a link to follow, or a directory of theirs to continue. */
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
    const directory = this.#makeDirectory(parent, name);
    directory.mode = mode;
    return directory;
  }

  #makeDirectory(parent: TreeDirectory, name: string): TreeDirectory {
    const path = childPath(parent, name);
    // Links on the way can make a place longer, and its names others, than the entry's path was.
    splitEntryPath(path, this.#limits);
    mkdirSync(this.#at(path), 0o700);
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
    this.#keep(parent, name, made);
    return made;
  }

  #keep(parent: TreeDirectory, name: string, node: TreeNode): void {
    // Implied directories count as well: a path of 256 components costs as many inodes.
    this.#nodes += 1;
    if (this.#nodes > this.#limits.maxEntries)
      throw unsafe(`more than ${this.#limits.maxEntries} files and directories`);
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
        // What the layer had there a moment ago has replaced whatever is below.
        if (before !== undefined) Object.assign(directory, { opaque: true, renewed: true });
      }
      Object.assign(directory, { mode: entry.mode & 0o1777, mtime: entry.mtime, implied: false });
      return;
    }
    if (entry.kind === "link") {
      this.#link(parent, name, entry.target, before);
      return;
    }
    this.#remove(parent, name, before);
    const at = this.#at(path);
    const mode = (entry.mode & 0o777) | this.#readable;
    const mtime = clampTime(entry.mtime);
    if (entry.kind === "file") {
      const descriptor = openSync(at, CREATE, mode);
      this.#file = { descriptor, mtime };
      if (this.#owner !== undefined) fchownSync(descriptor, this.#owner.uid, this.#owner.gid);
      if ((mode & this.#umask) !== 0) fchmodSync(descriptor, mode);
      this.#keep(parent, name, { kind: "file" });
      if (entry.size === 0) this.closeFile();
      return;
    }
    if (entry.kind === "symlink") symlinkSync(Buffer.from(entry.target, "latin1"), at);
    else linuxCalls().makeFifo(at, mode);
    if (this.#owner !== undefined) lchownSync(at, this.#owner.uid, this.#owner.gid);
    if (entry.kind === "fifo" && (mode & this.#umask) !== 0) chmodSync(at, mode);
    lutimesSync(at, mtime, mtime);
    this.#keep(parent, name, entry.kind === "symlink" ? { kind: "symlink", target: entry.target } : { kind: "fifo" });
  }

  /** Of two entries with one name the last counts. */
  #remove(parent: TreeDirectory, name: string, node: TreeNode | undefined): void {
    if (node === undefined) return;
    const at = this.#at(childPath(parent, name));
    if (node.kind === "directory") rmSync(at, { recursive: true });
    else unlinkSync(at);
    parent.children.delete(name);
  }

  #link(parent: TreeDirectory, name: string, target: BytePath, before: TreeNode | undefined): void {
    if (target.startsWith("/")) throw unsafe("hard link to an absolute path");
    const parts = splitEntryPath(target, this.#limits);
    const last = parts.pop();
    if (last === undefined) throw unsafe("hard link to the layer's root");
    const found = walk(this.#tree, parts, { ...this.#peek, refuseLinks: true });
    const own = found?.children.get(last);
    const at = this.#at(childPath(parent, name));
    if (found !== undefined && own !== undefined) {
      if (own === before) return;
      if (own.kind === "directory") throw unsafe("hard link to a directory");
      for (let at: TreeDirectory | undefined = found; at !== undefined; at = at.parent)
        if (at === before) throw unsafe("hard link that replaces the directory of its own target");
      this.#remove(parent, name, before);
      linkSync(this.#at(childPath(found, last)), at);
      this.#keep(parent, name, own);
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
    // Unpacked layers never change, so they may share a file as the entry says; a copy could be had 500,000 times.
    linkSync(source.source, at);
    const kind = source.kind === "other" ? "fifo" : source.kind;
    this.#keep(parent, name, kind === "symlink" ? { kind, target: source.target ?? "" } : { kind });
  }

  readonly #peek: Steps = { missing: (directory, name) => this.#peekBelow(directory, name) };

  /** As #below, for looking only: directories of lower layers are not made here. */
  #peekBelow(directory: TreeDirectory, name: string): TreeNode | undefined {
    const below = this.#lowerEntry(directory, name);
    if (below?.kind === "symlink") return { kind: "symlink", target: below.target ?? "" };
    if (below?.kind !== "directory") return undefined;
    return { ...makeRoot(), path: childPath(directory, name), parent: directory };
  }

  /** @returns the directory, if there is no other reason for it than the mark */
  #mark(path: BytePath): BytePath[] {
    const parts = path === "" ? [] : path.split("/");
    let blocked = false;
    const own = walk(this.#tree, parts, { missing: () => undefined, blocked: () => (blocked = true) });
    // The layer has something else there: of what is below, nothing shows anyway.
    if (blocked) return [];
    if (own !== undefined) {
      own.opaque = true;
      return [];
    }
    if (this.#isHidden(path) || this.#whiteouts.has(path)) return [];
    // On given layers, one that hides nothing must make nothing.
    if (this.#lower !== undefined && walk(this.#tree, parts, this.#peek) === undefined) return [];
    const directory = this.#parent(parts);
    directory.opaque = true;
    return [directory.path];
  }

  /** Whether this layer hides everything of a directory on the way: then nothing is left there to hide or delete. */
  #isHidden(path: BytePath): boolean {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      const directory = path.slice(0, at);
      if (this.#whiteouts.has(directory) || this.#marks.has(directory)) return true;
    }
    return this.#marks.has("");
  }

  /** @returns undefined where none was needed, else its place and whether the file system could hold it */
  #whiteout(path: BytePath): { path: BytePath; made: boolean } | undefined {
    const parts = path.split("/");
    const name = parts.pop() ?? "";
    if (this.#isHidden(path)) return undefined;
    let blocked = false;
    walk(this.#tree, parts, { missing: () => undefined, blocked: () => (blocked = true) });
    if (blocked) return undefined;
    // On given layers, one that deletes nothing must make nothing, not even its parents.
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
    const at = this.#at(childPath(parent, name));
    const made = attempt(() => linuxCalls().makeWhiteout(at));
    parent.children.set(name, { kind: "whiteout" });
    if (made && this.#owner !== undefined) lchownSync(at, this.#owner.uid, this.#owner.gid);
    return { path: childPath(parent, name), made };
  }

  #finishDirectory({ path, mode, mtime }: TreeDirectory): void {
    const at = this.#at(path);
    if (this.#owner !== undefined) chownSync(at, this.#owner.uid, this.#owner.gid);
    chmodSync(at, (mode & 0o1777) | this.#readable | (this.#readable >> 2));
    if (mtime !== undefined) utimesSync(at, clampTime(mtime), clampTime(mtime));
  }
}

function clampTime(seconds: number): number {
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), MAX_TIME) : 0;
}

/** False where the kernel or the file system does not know such a thing; other errors are thrown on. */
function attempt(call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EPERM" || code === "EOPNOTSUPP" || code === "ENOTSUP" || code === "ENOSYS") return false;
    throw error;
  }
}
