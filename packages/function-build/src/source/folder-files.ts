import { existsSync, lstatSync, readdirSync, readlinkSync, type Stats } from "node:fs";
import { dirname, join, posix, relative, resolve, sep } from "node:path";
import { InputError } from "@xfn/input";
import { type IgnoredBy, IgnoreRules } from "./ignore-rules.ts";

/** A file or link of a function's folder. */
export interface FolderFile {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly executable: boolean;
  /** The target of a symbolic link. */
  readonly link?: string;
}

/** The files of a folder that go into an image, and those that its author may expect there. */
export interface FolderContents {
  readonly files: readonly FolderFile[];
  /** Files and whole folders, relative to the folder, by what left them out. */
  readonly leftOut: ReadonlyMap<IgnoredBy, readonly string[]>;
}

// A function has few files; a folder with this many is a home or a checkout.
const MAX_FILES = 20_000;

/**
 * Lists the files of a folder that go into an image, sorted by path, without those that {@link IgnoreRules} ignores.
 *
 * @param entry - goes into the image even if it is ignored: `.gitignore` often lists the output of compilers
 * @throws InputError for a link out of the folder, a socket or a device
 */
export function folderFiles(dir: string, entry?: string): FolderContents {
  const walk = new Walk(dir, entry);
  walk.folder("", false);
  return { files: walk.files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), leftOut: walk.leftOut };
}

class Walk {
  readonly files: FolderFile[] = [];
  readonly leftOut: Map<IgnoredBy, string[]> = new Map();
  readonly #dir: string;
  /** The entry, and what it links to. */
  readonly #kept: ReadonlySet<string>;
  readonly #rules: IgnoreRules;

  constructor(dir: string, entry: string | undefined) {
    this.#dir = dir;
    this.#kept = entry === undefined ? new Set() : entryPaths(dir, entry);
    this.#rules = new IgnoreRules(dir);
  }

  /** @param quietly whether what is left out was named already, by its folder */
  folder(inside: string, quietly: boolean): void {
    for (const name of readdirSync(join(this.#dir, inside)).toSorted()) {
      const path = inside === "" ? name : `${inside}/${name}`;
      const full = join(this.#dir, path);
      const stat = lstatSync(full);
      if (stat.isDirectory()) this.#subfolder(name, path, quietly);
      else if (!this.#isLeftOut(path, false, quietly)) this.#add(full, path, stat);
    }
  }

  #subfolder(name: string, path: string, quietly: boolean): void {
    // An image of an earlier `build -o` in the folder would make every build different.
    if (name === ".git" || existsSync(join(this.#dir, path, "oci-layout"))) return;
    const isOut = this.#isLeftOut(path, true, quietly);
    const hasEntry = [...this.#kept].some((kept) => kept.startsWith(`${path}/`));
    if (!isOut || hasEntry || this.#rules.mayIncludeAgain) this.folder(path, isOut || quietly);
  }

  #isLeftOut(path: string, isFolder: boolean, quietly: boolean): boolean {
    if (this.#kept.has(path)) return false;
    const by = this.#rules.ignores(path, isFolder);
    if (by !== undefined && by !== "default" && !quietly) this.leftOut.set(by, [...(this.leftOut.get(by) ?? []), path]);
    return by !== undefined;
  }

  #add(full: string, path: string, stat: Stats): void {
    const file = stat.isSymbolicLink()
      ? { path, executable: false, link: linkTarget(this.#dir, full) }
      : regular(full, path, stat);
    this.files.push(file);
    if (this.files.length > MAX_FILES)
      throw new InputError(`${this.#dir} has more than ${MAX_FILES} files; is it the function's folder?`);
  }
}

// More links are a cycle; the kernel has this limit too.
const MAX_LINKS = 40;

/** The entry, and every link and file on the way to what it links to, relative to the folder. */
function entryPaths(dir: string, entry: string): Set<string> {
  const paths = new Set([entry]);
  let rest = entry.split("/");
  let at = "";
  for (let links = 0; rest.length > 0 && links <= MAX_LINKS; ) {
    const [name = "", ...others] = rest;
    const path = posix.normalize(posix.join(at, name));
    const full = join(dir, path);
    const stat = name === ".." ? undefined : lstatSync(full, { throwIfNoEntry: false });
    if (stat === undefined) break;
    if (stat.isSymbolicLink()) {
      paths.add(path);
      const target = relative(dir, resolve(dirname(full), readlinkSync(full)));
      [rest, at] = [[...target.split(sep), ...others], ""];
      links++;
    } else {
      rest = others;
      at = path;
      if (others.length === 0) paths.add(path);
    }
  }
  return paths;
}

function regular(full: string, path: string, stat: Stats): FolderFile {
  if (!stat.isFile()) throw new InputError(`${full} is neither a file nor a folder, so it cannot be in an image`);
  return { path, executable: (stat.mode & 0o111) !== 0 };
}

function linkTarget(dir: string, link: string): string {
  const target = readlinkSync(link);
  const inside = relative(dir, resolve(dirname(link), target));
  // In the image, the link would have another target or none.
  if (inside === ".." || inside.startsWith(`..${sep}`))
    throw new InputError(`${link} is a link out of the function's folder to ${target}`);
  return relative(dirname(link), join(dir, inside));
}
