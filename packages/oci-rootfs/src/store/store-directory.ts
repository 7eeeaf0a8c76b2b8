import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ImageError } from "../base/errors.ts";
import { makeFolder } from "../base/make-folder.ts";
import { mayBeRunning, ownName } from "../base/process-identity.ts";
import { removeTree } from "../base/remove-tree.ts";
import { parseDigest } from "../image/digest.ts";

/** Records are JSON that this package wrote, and may list many implied paths. A larger file is not one of them. */
const MAX_RECORD_BYTES = 256 * 1024 * 1024;

const REMOVE_RETRY_MS = 100;

/** Opens or creates the store's directories, and cleans up after processes that were killed. @throws ImageError */
export function openStoreDirectory(dir: string): StoreDirectory {
  try {
    createDirectories(dir);
    removeAbandoned(join(dir, "tmp"));
    return new StoreDirectory(dir);
  } catch (error) {
    throw ImageError.from(error);
  }
}

function createDirectories(dir: string): void {
  makeFolder(dir, 0o700);
  const stats = statSync(dir);
  const uid = process.geteuid?.();
  // The owner of the directory could replace a layer after its verification.
  if (uid !== undefined && stats.uid !== uid) {
    throw new ImageError(
      "StoreFailed",
      `${dir} belongs to user ${stats.uid}, not to ${uid}: use a directory that you own`,
    );
  }
  if ((stats.mode & 0o077) !== 0) chmodSync(dir, 0o700);
  for (const folder of ["blobs/sha256", "images/sha256", "names", "tmp"]) makeFolder(join(dir, folder), 0o700);
  // Searchable, so that a process of the layers' owner can use an open descriptor of this directory.
  makeFolder(join(dir, "layers", "sha256"), 0o711);
}

/** The store's directories. Files and directories get into them by a rename, so they are always complete. */
export class StoreDirectory {
  readonly dir: string;
  readonly names: string;
  readonly #layers: string;
  /** Temporary files of this process. */
  readonly #own: string;
  readonly #outstanding = new Set<string>();
  readonly #toRemove = new Set<string>();
  #counter = 0;

  constructor(dir: string) {
    this.dir = dir;
    this.names = join(dir, "names");
    this.#layers = join(dir, "layers", "sha256");
    this.#own = join(dir, "tmp", ownName());
  }

  /** `blobs/sha256/<hex>` */
  blobPath(digest: string): string {
    const { algorithm, hex } = parseDigest(digest);
    return join(this.dir, "blobs", algorithm, hex);
  }

  /** `images/sha256/<hex>.json`: an image's config and its layers' directories, by manifest. */
  imagePath(manifestDigest: string): string {
    const { algorithm, hex } = parseDigest(manifestDigest);
    return join(this.dir, "images", algorithm, `${hex}.json`);
  }

  /** `layers/sha256/<key>`: one unpacked layer (`fs`) and its record (`layer.json`). */
  layerPath(key: string): string {
    return join(this.#layers, key);
  }

  /** A new path for this process, where nothing exists yet. A later process removes it if this one is killed. */
  temporary(): string {
    makeFolder(this.#own, 0o700);
    this.#counter += 1;
    const path = join(this.#own, String(this.#counter));
    this.#outstanding.add(path);
    return path;
  }

  /** Writes a small file atomically. */
  writeAtomically(path: string, content: string | Uint8Array): void {
    const temporary = this.temporary();
    try {
      writeFileSync(temporary, content, { mode: 0o600, flag: "wx" });
      this.commit(temporary, path);
    } catch (error) {
      this.remove(temporary);
      throw error;
    }
  }

  /** Renames a finished file or directory to its path. False if another process has created the directory first. */
  commit(temporary: string, path: string): boolean {
    try {
      renameSync(temporary, path);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === "ENOENT" && !existsSync(join(path, "..")) && existsSync(temporary)) {
        makeFolder(join(path, ".."), 0o700);
        return this.commit(temporary, path);
      }
      if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
      this.remove(temporary);
      return false;
    }
    this.#release(temporary);
    return true;
  }

  /**
   * Removes a tree, whatever modes a layer gave its directories. A failure to remove a temporary tree, such as
   * EMFILE, is retried in the background: thrown, it would hide the error for which the tree is removed.
   */
  remove(path: string): void {
    // Another process may recreate any other path, which a retry must not remove.
    if (!this.#outstanding.has(path)) {
      removeTree(path);
      return;
    }
    this.#toRemove.add(path);
    this.#removeAll();
  }

  #removeAll(): void {
    for (const path of this.#toRemove) {
      try {
        removeTree(path);
        this.#toRemove.delete(path);
        this.#release(path);
      } catch {
        // Retried below.
      }
    }
    if (this.#toRemove.size > 0) setTimeout(() => this.#removeAll(), REMOVE_RETRY_MS).unref();
  }

  #release(path: string): void {
    if (!this.#outstanding.delete(path) || this.#outstanding.size > 0) return;
    try {
      rmdirSync(this.#own);
    } catch {
      // If it is not empty, a later process removes it.
    }
  }
}

/** Reads a JSON record; undefined if it is missing or damaged, so that the caller writes it again. */
export function readRecord(path: string): unknown {
  try {
    return JSON.parse(readSmallFile(path, MAX_RECORD_BYTES).toString("utf8"));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR" || error instanceof SyntaxError) return undefined;
    throw ImageError.from(error);
  }
}

/**
 * Reads a regular file of at most `limit` bytes. Never blocks on a FIFO, which a hostile layout or layer may contain.
 */
export function readSmallFile(path: string | Buffer, limit: number, flags = 0): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw new ImageError("StoreFailed", `${String(path)} is not a regular file`);
    if (stats.size > limit)
      throw new ImageError("TooLarge", `${String(path)} is ${stats.size} bytes, more than ${limit}`);
    const buffer = Buffer.allocUnsafe(stats.size);
    let length = 0;
    while (length < buffer.length) {
      const count = readSync(descriptor, buffer, length, buffer.length - length, length);
      if (count === 0) break;
      length += count;
    }
    return buffer.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}

function removeAbandoned(temporaries: string): void {
  for (const name of readdirSync(temporaries)) {
    const path = join(temporaries, name);
    try {
      if (!mayBeRunning(name, path)) removeTree(path);
    } catch {
      // Another process removes it at the same time, or this one lacks the permission.
    }
  }
}
