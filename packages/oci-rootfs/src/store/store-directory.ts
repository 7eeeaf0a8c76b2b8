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

/** The store's folders and how things get into them: always written aside, then renamed. */
export interface StoreDirectory {
  readonly dir: string;
  /** `blobs/sha256/<hex>` */
  blobPath(digest: string): string;
  /** `images/sha256/<hex>.json`: an image's config and its layers' directories, by manifest. */
  imagePath(manifestDigest: string): string;
  /** `layers/sha256/<key>`: one unpacked layer (`fs`) and its record (`layer.json`). */
  layerPath(key: string): string;
  readonly names: string;
  /** A path in a folder of this process; nothing is there yet. Removed by a later process if this one dies. */
  temporary(): string;
  /** Puts a small file in its place at once. */
  writeAside(path: string, content: string | Uint8Array): void;
  /** Moves a finished file or directory to its place. False if another process was first (for directories). */
  commit(temporary: string, path: string): boolean;
  /**
   * Removes a tree of ours, whatever modes a layer gave its directories. What cannot be removed now, as where no file may be
   * opened any more, is tried again: it must not take the place of the error that made it rubbish.
   */
  remove(path: string): void;
}

/** JSON that we wrote ourselves; a larger file is not ours. Lists of implied paths can be long. */
const MAX_RECORD_BYTES = 256 * 1024 * 1024;

/** After so long, what could not be removed is tried again. */
const RETRY_MS = 100;

/** Opens or makes the store's folders, and clears up after processes that were killed. */
export function openStoreDirectory(dir: string): StoreDirectory {
  try {
    return open(dir);
  } catch (error) {
    throw ImageError.from(error);
  }
}

function open(dir: string): StoreDirectory {
  makeFolder(dir, 0o700);
  const stats = statSync(dir);
  const me = process.geteuid?.();
  // Whoever owns the folder could exchange a layer after we have checked it.
  if (me !== undefined && stats.uid !== me) {
    throw new ImageError("StoreFailed", `${dir} belongs to user ${stats.uid}, not to ${me}: use a folder of your own`);
  }
  if ((stats.mode & 0o077) !== 0) chmodSync(dir, 0o700);
  const layers = join(dir, "layers", "sha256");
  for (const folder of ["blobs/sha256", "images/sha256", "names", "tmp"]) makeFolder(join(dir, folder), 0o700);
  // Searchable, so that a process of the layers' owner which was handed this folder open can use it.
  makeFolder(layers, 0o711);

  const temporaries = join(dir, "tmp");
  sweep(temporaries);
  const own = join(temporaries, ownName());
  let counter = 0;
  const outstanding = new Set<string>();
  const release = (path: string): void => {
    if (!outstanding.delete(path) || outstanding.size > 0) return;
    try {
      rmdirSync(own);
    } catch {
      // Something is left in it after all: a later process clears up.
    }
  };

  const stubborn = new Set<string>();
  const retry = (): void => {
    for (const path of stubborn) {
      try {
        removeTree(path);
        stubborn.delete(path);
        release(path);
      } catch {
        // Again in a moment.
      }
    }
    if (stubborn.size > 0) setTimeout(retry, RETRY_MS).unref();
  };
  const store: StoreDirectory = {
    dir,
    names: join(dir, "names"),
    blobPath: (digest) => {
      const { algorithm, hex } = parseDigest(digest);
      return join(dir, "blobs", algorithm, hex);
    },
    imagePath: (digest) => {
      const { algorithm, hex } = parseDigest(digest);
      return join(dir, "images", algorithm, `${hex}.json`);
    },
    layerPath: (key) => join(layers, key),
    temporary() {
      makeFolder(own, 0o700);
      counter += 1;
      const path = join(own, String(counter));
      outstanding.add(path);
      return path;
    },
    writeAside(path, content) {
      const aside = store.temporary();
      try {
        writeFileSync(aside, content, { mode: 0o600, flag: "wx" });
        store.commit(aside, path);
      } catch (error) {
        store.remove(aside);
        throw error;
      }
    },
    commit(temporary, path) {
      try {
        renameSync(temporary, path);
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code;
        if (code === "ENOENT" && !existsSync(join(path, "..")) && existsSync(temporary)) {
          makeFolder(join(path, ".."), 0o700);
          return store.commit(temporary, path);
        }
        if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
        store.remove(temporary);
        return false;
      }
      release(temporary);
      return true;
    },
    remove(path) {
      // A place that others may fill again must not be emptied later.
      if (!outstanding.has(path)) {
        removeTree(path);
        return;
      }
      stubborn.add(path);
      retry();
    },
  };
  return store;
}

/** Reads a JSON record of ours; undefined where there is none or it is damaged: it is then made again. */
export function readRecord(path: string): unknown {
  try {
    return JSON.parse(readSmallFile(path, MAX_RECORD_BYTES).toString("utf8"));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR" || error instanceof SyntaxError) return undefined;
    throw ImageError.from(error);
  }
}

/** Reads a regular file of at most `limit` bytes. Never blocks on a FIFO, which a hostile layout or layer may hold. */
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

function sweep(temporaries: string): void {
  for (const name of readdirSync(temporaries)) {
    const path = join(temporaries, name);
    try {
      if (!mayBeRunning(name, path)) removeTree(path);
    } catch {
      // Another process sweeps as well, or the folder is not ours to remove: neither concerns this one.
    }
  }
}
