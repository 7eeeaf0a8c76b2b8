import { chmodSync, existsSync, readdirSync, renameSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ImageError } from "../base/errors.ts";
import { makeFolder } from "../base/make-folder.ts";
import { mayBeRunning, ownName } from "../base/process-identity.ts";
import { removeTree } from "../base/remove-tree.ts";
import { readSmallFile } from "../base/small-file.ts";
import { parseDigest } from "../image/digest.ts";

const REMOVE_RETRY_MS = 100;

/** Files and directories that this thread removes at a time, within some 20 ms. */
const MAX_REMOVED_HERE = 1000;

/** Longer than any digest. */
const MAX_DIGEST_BYTES = 256;

/**
 * Removes a tree on another thread.
 *
 * @param background whether the process may exit before it is done
 */
export type RemoveTree = (path: string, background: boolean) => Promise<unknown>;

const removeHere: RemoveTree = async (path) => removeTree(path);

/**
 * Opens or creates the store's directories, and cleans up after processes that were killed.
 *
 * @param removeLarge removes trees of more than a few files and directories
 * @throws ImageError
 */
export function openStoreDirectory(folder: string, removeLarge: RemoveTree = removeHere): StoreDirectory {
  try {
    // The directory of this process may change, and other processes mount the layers.
    const dir = resolve(folder);
    createDirectories(dir);
    removeAbandoned(join(dir, "tmp"), removeLarge);
    return new StoreDirectory(dir, removeLarge);
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
  for (const folder of ["blobs/sha256", "images/sha256", "unpacked/sha256", "names", "tmp"])
    makeFolder(join(dir, folder), 0o700);
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
  readonly #removeLarge: RemoveTree;
  #counter = 0;

  constructor(dir: string, removeLarge: RemoveTree = removeHere) {
    this.dir = dir;
    this.#removeLarge = removeLarge;
    this.names = join(dir, "names");
    this.#layers = join(dir, "layers", "sha256");
    this.#own = join(dir, "tmp", ownName());
  }

  /** `blobs/sha256/<hex>` */
  blobPath(digest: string): string {
    const { algorithm, hex } = parseDigest(digest);
    return join(this.dir, "blobs", algorithm, hex);
  }

  /** `unpacked/sha256/<hex>`: the digest of a blob's unpacked content, which was verified. */
  unpackedPath(digest: string): string {
    const { algorithm, hex } = parseDigest(digest);
    return join(this.dir, "unpacked", algorithm, hex);
  }

  /** The digest to which a blob was verified to unpack, if it was. */
  unpackedDigest(digest: string): string | undefined {
    try {
      return readSmallFile(this.unpackedPath(digest), MAX_DIGEST_BYTES).toString("latin1");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  recordUnpackedDigest(digest: string, unpacked: string): void {
    if (this.unpackedDigest(digest) !== unpacked) this.writeAtomically(this.unpackedPath(digest), unpacked);
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

  /** Removes a file, or a temporary tree as `discard` does. */
  remove(path: string): void {
    if (this.#outstanding.has(path)) this.discard(path);
    else removeTree(path);
  }

  /**
   * Renames a tree, unless it is temporary, and then removes it. Another thread removes a large one. A failure to
   * remove it, such as EMFILE, is retried in the background: thrown, it would hide the error for which it is removed.
   *
   * @param options `background`: whether the process may exit before it is done
   */
  discard(path: string, { background = true }: { background?: boolean } = {}): void {
    let aside = path;
    if (!this.#outstanding.has(path)) {
      aside = this.temporary();
      try {
        renameSync(path, aside);
      } catch (error) {
        this.#release(aside);
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
        throw error;
      }
    }
    this.#toRemove.add(aside);
    this.#removeAll(background);
  }

  #removeAll(background: boolean): void {
    for (const path of this.#toRemove) {
      try {
        const done = removeTree(path, MAX_REMOVED_HERE);
        this.#toRemove.delete(path);
        if (done) this.#release(path);
        else void this.#removeElsewhere(path, background);
      } catch {
        this.#retry(background);
      }
    }
  }

  async #removeElsewhere(path: string, background: boolean): Promise<void> {
    try {
      await this.#removeLarge(path, background);
      this.#release(path);
    } catch {
      this.#toRemove.add(path);
      this.#retry(background);
    }
  }

  #retry(background: boolean): void {
    setTimeout(() => this.#removeAll(background), REMOVE_RETRY_MS).unref();
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

function removeAbandoned(temporaries: string, removeLarge: RemoveTree): void {
  for (const name of readdirSync(temporaries)) {
    const path = join(temporaries, name);
    try {
      if (mayBeRunning(name, path)) continue;
      // A failure is left to the next process.
      if (!removeTree(path, MAX_REMOVED_HERE)) removeLarge(path, true).catch(() => {});
    } catch {
      // Another process removes it at the same time, or this one lacks the permission.
    }
  }
}
