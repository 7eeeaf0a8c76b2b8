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
import { type BytePath, systemPath } from "./entry-path.ts";
import { linuxCalls } from "./linux-calls.ts";

/** The owner of every file. The ids in the layer itself are ignored. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Permission bits and time in seconds, as in the archive. */
interface Attributes {
  readonly mode: number;
  readonly mtime: number;
}

/** The latest time in seconds that every file system supports. */
const MAX_TIME = 2 ** 32 - 1;

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Creates the files of a layer below a new root directory, with the right owner, mode and time. */
export class LayerFiles {
  readonly #root: string;
  readonly #owner: Owner | undefined;
  readonly #umask: number;
  /**
   * Mode bits that are added for an ordinary user, who could not read or copy files such as a distribution's
   * `/etc/shadow` with mode 0000. Root needs none.
   */
  readonly #readable: number = process.geteuid?.() === 0 ? 0 : 0o400;
  #file: { descriptor: number; mtime: number } | undefined;

  constructor(root: string, owner: Owner | undefined) {
    this.#root = root;
    // New files already belong to this user.
    const own = owner?.uid === process.geteuid?.() && owner?.gid === process.getegid?.();
    this.#owner = own ? undefined : owner;
    mkdirSync(root, 0o777);
    this.#umask = 0o777 & ~lstatSync(root).mode;
    chmodSync(root, 0o700);
  }

  /** Creates a file, to which `write` appends until `closeFile`. */
  createFile(path: BytePath, attributes: Attributes): void {
    const mode = this.#modeOf(attributes);
    const descriptor = openSync(this.#at(path), CREATE, mode);
    this.#file = { descriptor, mtime: clampTime(attributes.mtime) };
    if (this.#owner !== undefined) fchownSync(descriptor, this.#owner.uid, this.#owner.gid);
    if ((mode & this.#umask) !== 0) fchmodSync(descriptor, mode);
  }

  /** Appends to the current file, if there is one. */
  write(chunk: Uint8Array): void {
    const { descriptor } = this.#file ?? {};
    if (descriptor === undefined) return;
    for (let offset = 0; offset < chunk.length; ) offset += writeSync(descriptor, chunk, offset);
  }

  /** Closes the current file, if there is one. */
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

  createSymlink(path: BytePath, target: BytePath, { mtime }: Attributes): void {
    const at = this.#at(path);
    symlinkSync(Buffer.from(target, "latin1"), at);
    this.#chown(at);
    lutimesSync(at, clampTime(mtime), clampTime(mtime));
  }

  createFifo(path: BytePath, attributes: Attributes): void {
    const at = this.#at(path);
    const mode = this.#modeOf(attributes);
    const mtime = clampTime(attributes.mtime);
    linuxCalls().makeFifo(at, mode);
    this.#chown(at);
    if ((mode & this.#umask) !== 0) chmodSync(at, mode);
    lutimesSync(at, mtime, mtime);
  }

  /** Creates a directory that only this user can access until `finishDirectory`. */
  createDirectory(path: BytePath): void {
    mkdirSync(this.#at(path), 0o700);
  }

  finishDirectory(path: BytePath, mode: number, mtime: number | undefined): void {
    const at = this.#at(path);
    if (this.#owner !== undefined) chownSync(at, this.#owner.uid, this.#owner.gid);
    chmodSync(at, (mode & 0o1777) | this.#readable | (this.#readable >> 2));
    if (mtime !== undefined) utimesSync(at, clampTime(mtime), clampTime(mtime));
  }

  /** @param target a path in this layer, or of a file in another layer on disk */
  link(path: BytePath, target: { readonly own: BytePath } | { readonly source: string | Buffer }): void {
    linkSync("own" in target ? this.#at(target.own) : target.source, this.#at(path));
  }

  remove(path: BytePath, kind: "directory" | "other"): void {
    if (kind === "directory") rmSync(this.#at(path), { recursive: true });
    else unlinkSync(this.#at(path));
  }

  /** Creates a whiteout. @returns false if the kernel or the file system does not support it */
  createWhiteout(path: BytePath): boolean {
    const at = this.#at(path);
    const created = attempt(() => linuxCalls().makeWhiteout(at));
    if (created) this.#chown(at);
    return created;
  }

  /** Marks a directory as opaque. @returns false if the kernel or the file system does not support it */
  markOpaque(path: BytePath): boolean {
    return attempt(() => linuxCalls().markOpaque(this.#at(path)));
  }

  #at(path: BytePath): string | Buffer {
    return systemPath(this.#root, path);
  }

  #modeOf({ mode }: Attributes): number {
    return (mode & 0o777) | this.#readable;
  }

  #chown(at: string | Buffer): void {
    if (this.#owner !== undefined) lchownSync(at, this.#owner.uid, this.#owner.gid);
  }
}

function clampTime(seconds: number): number {
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), MAX_TIME) : 0;
}

/** Returns false if the kernel or the file system does not support the call. @throws all other errors */
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
