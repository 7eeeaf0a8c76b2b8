import { existsSync, lstatSync, readdirSync, readlinkSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { InputError } from "@xfn/input";

/** A file or link of a function's folder. */
export interface FolderFile {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly executable: boolean;
  /** The target of a symbolic link. */
  readonly link?: string;
}

// Not part of a function: history, installed packages, tests, files of Python and of editors.
const IGNORED_FOLDERS: ReadonlySet<string> = new Set([
  ".git",
  "node_modules",
  "test",
  "tests",
  "__tests__",
  "testdata",
  "__pycache__",
]);
const IGNORED_FILES = /(\.(test|spec)\.[cm]?[jt]s$)|(_test\.(go|py)$)|(^test_.*\.py$)|(\.pyc$)|(^\.DS_Store$)|(~$)/;

// A function has few files; a folder with this many is a home or a checkout.
const MAX_FILES = 20_000;

/**
 * Lists the files of a folder that go into an image, sorted by path.
 *
 * @throws InputError for a link out of the folder, a socket or a device
 */
export function folderFiles(dir: string): readonly FolderFile[] {
  const files: FolderFile[] = [];
  collect(dir, "", files);
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function collect(dir: string, inside: string, files: FolderFile[]): void {
  for (const name of readdirSync(join(dir, inside))) {
    const path = inside === "" ? name : `${inside}/${name}`;
    const full = join(dir, path);
    const stat = lstatSync(full);
    if (stat.isDirectory()) {
      // An image of an earlier `build -o` in the folder would make every build different.
      if (!IGNORED_FOLDERS.has(name) && !existsSync(join(full, "oci-layout"))) collect(dir, path, files);
    } else if (!IGNORED_FILES.test(name)) {
      files.push(
        stat.isSymbolicLink() ? { path, executable: false, link: linkTarget(dir, full) } : regular(full, path, stat),
      );
      if (files.length > MAX_FILES)
        throw new InputError(`${dir} has more than ${MAX_FILES} files; is it the function's folder?`);
    }
  }
}

function regular(full: string, path: string, stat: { isFile(): boolean; readonly mode: number }): FolderFile {
  if (!stat.isFile()) throw new InputError(`${full} is neither a file nor a folder, so it cannot be in an image`);
  return { path, executable: (stat.mode & 0o111) !== 0 };
}

function linkTarget(dir: string, link: string): string {
  const target = readlinkSync(link);
  const inside = relative(dir, resolve(dirname(link), target));
  // In the image, the link would have another target or none.
  if (inside.startsWith("..")) throw new InputError(`${link} is a link out of the function's folder to ${target}`);
  return relative(dirname(link), join(dir, inside));
}
