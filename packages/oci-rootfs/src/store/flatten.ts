import "../base/require-node.ts";
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
import { type BytePath, systemPath } from "../layer/entry-path.ts";
import { linuxCalls } from "../layer/linux-calls.ts";
import { readLayerPaths, readLayerRecord } from "../worker/layer-record-files.ts";
import { PlacedTree } from "./placed-tree.ts";

/**
 * Copies an image's layers into one directory with the same content as an overlay of them, for systems without
 * overlayfs. The files belong to the caller. If it is root, they retain their owner in the store.
 *
 * @param layers directories of an `Image`, bottom first
 * @param destination is created if it is missing; only the caller may have write access
 */
export function flatten(layers: readonly string[], destination: string): void {
  mkdirSync(destination, { recursive: true });
  const placed = new PlacedTree();
  for (const layer of layers) applyLayer(layer, destination, placed);
  // Children first, because the final mode of a directory may make it unsearchable.
  placed.visitDirectories((path, stats) => {
    const at = systemPath(destination, path);
    keepOwner(at, stats);
    chmodSync(at, stats.mode & 0o1777);
    utimesSync(at, stats.mtime, stats.mtime);
  });
}

function applyLayer(layer: string, destination: string, placed: PlacedTree): void {
  const record = readLayerRecord(layer);
  const opaque = new Set(record?.opaque);
  const whiteouts = record === undefined ? [] : readLayerPaths(layer).whiteouts;
  const deleted = Map.groupBy(whiteouts, (path) => path.slice(0, Math.max(0, path.lastIndexOf("/"))));

  const applyDirectory = (directory: BytePath): void => {
    const at = systemPath(destination, directory);
    if (opaque.has(directory))
      for (const name of readdirSync(at, "latin1")) remove(destination, join(directory, name), placed);
    // Deletes here, after the parents were applied, so that no parent is a symbolic link of a lower layer.
    for (const path of deleted.get(directory) ?? []) remove(destination, path, placed);
    for (const name of readdirSync(systemPath(layer, directory), "latin1")) {
      const path = join(directory, name);
      const source = systemPath(layer, path);
      const stats = lstatSync(source);
      if (stats.isDirectory()) {
        if (lstatSync(systemPath(destination, path), { throwIfNoEntry: false })?.isDirectory() !== true) {
          remove(destination, path, placed);
          mkdirSync(systemPath(destination, path), 0o700);
        }
        applyDirectory(path);
        placed.setDirectory(path, stats);
        continue;
      }
      // A whiteout, which the record contains too.
      if (stats.isCharacterDevice()) continue;
      remove(destination, path, placed);
      const target = systemPath(destination, path);
      const earlier = stats.nlink > 1 ? placed.pathOf(stats.ino) : undefined;
      if (earlier === undefined) copy(source, target, stats);
      else linkSync(systemPath(destination, earlier), target);
      if (stats.nlink > 1) placed.setLink(path, stats.ino);
    }
  };
  applyDirectory("");
  placed.setDirectory("", lstatSync(layer));
}

function copy(source: string | Buffer, target: string | Buffer, stats: Stats): void {
  if (stats.isSymbolicLink()) {
    symlinkSync(readlinkSync(source, "buffer"), target);
    keepOwner(target, stats);
    lutimesSync(target, stats.mtime, stats.mtime);
    return;
  }
  if (stats.isFile()) {
    copyFileSync(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    keepOwner(target, stats);
    chmodSync(target, stats.mode & 0o777);
  } else {
    linuxCalls().makeFifo(target, stats.mode & 0o777);
    keepOwner(target, stats);
    // Sets the bits that the umask has cleared.
    chmodSync(target, stats.mode & 0o777);
  }
  utimesSync(target, stats.mtime, stats.mtime);
}

/** Sets the owner of a file that root has unpacked for another user (see `StoreOptions.owner`). */
function keepOwner(target: string | Buffer, stats: Stats): void {
  if (process.geteuid?.() === 0 && stats.uid !== 0) lchownSync(target, stats.uid, stats.gid);
}

function remove(destination: string, path: BytePath, placed: PlacedTree): void {
  const at = systemPath(destination, path);
  const stats = lstatSync(at, { throwIfNoEntry: false });
  if (stats === undefined) return;
  placed.remove(path);
  if (stats.isDirectory()) rmSync(at, { recursive: true });
  else unlinkSync(at);
}

function join(directory: BytePath, name: string): BytePath {
  return directory === "" ? name : `${directory}/${name}`;
}
