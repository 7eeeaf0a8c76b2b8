import {
  chmodSync,
  constants,
  copyFileSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from "node:fs";
import { type BytePath, systemPath } from "./layer-path.ts";
import { linuxCalls } from "./linux-calls.ts";
import { readLayerRecord } from "./lower-view.ts";

/**
 * Copies an image's layers into one directory: what an overlay of them would show. For where overlayfs is not to be
 * had. Files are the caller's; where the caller is root, they keep the owner that the store gave them.
 *
 * @param layers directories of an `Image`, bottom first
 * @param destination made if it is missing; only the caller may be able to write to it
 */
export function flatten(layers: readonly string[], destination: string): void {
  mkdirSync(destination, { recursive: true });
  const finish = new Map<BytePath, Stats>();
  for (const layer of layers) applyLayer(layer, destination, finish);
  // Children before parents: a directory may not be searchable once it has its mode.
  for (const [path, stats] of [...finish].sort(([a], [b]) => (a < b ? 1 : -1))) {
    const at = systemPath(destination, path);
    keepOwner(at, stats);
    chmodSync(at, stats.mode & 0o1777);
    utimesSync(at, stats.mtime, stats.mtime);
  }
}

function applyLayer(layer: string, destination: string, finish: Map<BytePath, Stats>): void {
  const record = readLayerRecord(layer);
  const opaque = new Set(record?.opaque);
  const deleted = Map.groupBy(record?.whiteouts ?? [], (path) => path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  const links = new Map<number, BytePath>();

  const applyDirectory = (directory: BytePath): void => {
    const at = systemPath(destination, directory);
    if (opaque.has(directory))
      for (const name of readdirSync(at, "latin1")) remove(destination, join(directory, name), finish);
    // Here and not before: only now is it certain that no component on the way is a lower layer's link to elsewhere.
    for (const path of deleted.get(directory) ?? []) remove(destination, path, finish);
    for (const name of readdirSync(systemPath(layer, directory), "latin1")) {
      const path = join(directory, name);
      const source = systemPath(layer, path);
      const stats = lstatSync(source);
      if (stats.isDirectory()) {
        if (lstatSync(systemPath(destination, path), { throwIfNoEntry: false })?.isDirectory() !== true) {
          remove(destination, path, finish);
          mkdirSync(systemPath(destination, path), 0o700);
        }
        applyDirectory(path);
        finish.set(path, stats);
        continue;
      }
      // A deleted file: the record has said so already.
      if (stats.isCharacterDevice()) continue;
      remove(destination, path, finish);
      copy(source, systemPath(destination, path), stats, () => {
        const first = links.get(stats.ino);
        links.set(stats.ino, first ?? path);
        return first === undefined ? undefined : systemPath(destination, first);
      });
    }
  };
  applyDirectory("");
  finish.set("", lstatSync(layer));
}

function copy(
  source: string | Buffer,
  target: string | Buffer,
  stats: Stats,
  earlier: () => string | Buffer | undefined,
): void {
  if (stats.isSymbolicLink()) {
    symlinkSync(readlinkSync(source, "buffer"), target);
    keepOwner(target, stats);
    lutimesSync(target, stats.mtime, stats.mtime);
    return;
  }
  const first = stats.nlink > 1 ? earlier() : undefined;
  if (first !== undefined) {
    linkSync(first, target);
    return;
  }
  if (stats.isFile()) {
    copyFileSync(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    keepOwner(target, stats);
    chmodSync(target, stats.mode & 0o777);
  } else {
    linuxCalls().makeFifo(target, stats.mode & 0o777);
    keepOwner(target, stats);
  }
  utimesSync(target, stats.mtime, stats.mtime);
}

/** Root's images belong to the id that runs their functions (see `StoreOptions.owner`). */
function keepOwner(target: string | Buffer, stats: Stats): void {
  if (process.geteuid?.() === 0 && stats.uid !== 0) lchownSync(target, stats.uid, stats.gid);
}

function remove(destination: string, path: BytePath, finish: Map<BytePath, Stats>): void {
  const at = systemPath(destination, path);
  const stats = lstatSync(at, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isDirectory()) {
    unlinkSync(at);
    return;
  }
  rmSync(at, { recursive: true });
  for (const kept of finish.keys()) if (kept === path || kept.startsWith(`${path}/`)) finish.delete(kept);
}

function join(directory: BytePath, name: string): BytePath {
  return directory === "" ? name : `${directory}/${name}`;
}
