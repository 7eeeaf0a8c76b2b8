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
import { readLayerRecord } from "./lower-view.ts";

/**
 * Copies an image's layers into one directory with the same content as an overlay of them, for systems without
 * overlayfs. The files belong to the caller. If it is root, they retain their owner in the store.
 *
 * @param layers directories of an `Image`, bottom first
 * @param destination is created if it is missing; only the caller may have write access
 */
export function flatten(layers: readonly string[], destination: string): void {
  mkdirSync(destination, { recursive: true });
  const finish = new Map<BytePath, Stats>();
  const links = new Links();
  for (const layer of layers) applyLayer(layer, destination, finish, links);
  // Children first, because the final mode of a directory may make it unsearchable.
  for (const [path, stats] of [...finish].sort(([a], [b]) => (a < b ? 1 : -1))) {
    const at = systemPath(destination, path);
    keepOwner(at, stats);
    chmodSync(at, stats.mode & 0o1777);
    utimesSync(at, stats.mtime, stats.mtime);
  }
}

/** Hard links: maps inodes in the store to the paths in the destination. */
class Links {
  readonly #inodes = new Map<BytePath, number>();
  readonly #paths = new Map<number, BytePath[]>();

  /** Returns a current path of the file; later layers may have removed others. */
  nameOf(inode: number): BytePath | undefined {
    const paths = this.#paths.get(inode) ?? [];
    for (let path = paths.at(-1); path !== undefined; path = paths.at(-1)) {
      if (this.#inodes.get(path) === inode) return path;
      paths.pop();
    }
    return undefined;
  }

  add(inode: number, path: BytePath): void {
    this.#inodes.set(path, inode);
    const paths = this.#paths.get(inode);
    if (paths === undefined) this.#paths.set(inode, [path]);
    else paths.push(path);
  }

  /** Forgets a removed path, and all paths below a directory. */
  remove(path: BytePath, directory: boolean): void {
    this.#inodes.delete(path);
    if (!directory) return;
    for (const name of this.#inodes.keys()) if (name.startsWith(`${path}/`)) this.#inodes.delete(name);
  }
}

function applyLayer(layer: string, destination: string, finish: Map<BytePath, Stats>, links: Links): void {
  const record = readLayerRecord(layer);
  const opaque = new Set(record?.opaque);
  const deleted = Map.groupBy(record?.whiteouts ?? [], (path) => path.slice(0, Math.max(0, path.lastIndexOf("/"))));

  const applyDirectory = (directory: BytePath): void => {
    const at = systemPath(destination, directory);
    if (opaque.has(directory))
      for (const name of readdirSync(at, "latin1")) remove(destination, join(directory, name), finish, links);
    // Deletes here, after the parents were applied, so that no parent is a symbolic link of a lower layer.
    for (const path of deleted.get(directory) ?? []) remove(destination, path, finish, links);
    for (const name of readdirSync(systemPath(layer, directory), "latin1")) {
      const path = join(directory, name);
      const source = systemPath(layer, path);
      const stats = lstatSync(source);
      if (stats.isDirectory()) {
        if (lstatSync(systemPath(destination, path), { throwIfNoEntry: false })?.isDirectory() !== true) {
          remove(destination, path, finish, links);
          mkdirSync(systemPath(destination, path), 0o700);
        }
        applyDirectory(path);
        finish.set(path, stats);
        continue;
      }
      // A whiteout, which the record contains too.
      if (stats.isCharacterDevice()) continue;
      remove(destination, path, finish, links);
      const target = systemPath(destination, path);
      const earlier = stats.nlink > 1 ? links.nameOf(stats.ino) : undefined;
      if (earlier === undefined) copy(source, target, stats);
      else linkSync(systemPath(destination, earlier), target);
      if (stats.nlink > 1) links.add(stats.ino, path);
    }
  };
  applyDirectory("");
  finish.set("", lstatSync(layer));
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

function remove(destination: string, path: BytePath, finish: Map<BytePath, Stats>, links: Links): void {
  const at = systemPath(destination, path);
  const stats = lstatSync(at, { throwIfNoEntry: false });
  if (stats === undefined) return;
  links.remove(path, stats.isDirectory());
  if (!stats.isDirectory()) {
    unlinkSync(at);
    return;
  }
  rmSync(at, { recursive: true });
  for (const other of finish.keys()) if (other === path || other.startsWith(`${path}/`)) finish.delete(other);
}

function join(directory: BytePath, name: string): BytePath {
  return directory === "" ? name : `${directory}/${name}`;
}
