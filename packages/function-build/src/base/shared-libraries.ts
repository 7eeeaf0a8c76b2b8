import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { InputError } from "@xfn/input";
import type { ElfFile } from "../program/elf.ts";
import { readElf } from "../program/elf.ts";

/** A library that a program needs: its path on this machine, and its path in an image. */
export interface SharedLibrary {
  readonly source: string;
  readonly target: string;
}

// The default search path of glibc and musl, in their order. Debian adds multiarch folders.
const TRUSTED = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"] as const;
// Older glibc (< 2.34) loads these at run time; without them it cannot look up users and hosts.
const LOADED_BY_LIBC = ["libnss_files.so.2", "libnss_dns.so.2"] as const;

/**
 * Finds the dynamic loader and all shared libraries of `programs` as the loader does (RPATH, RUNPATH,
 * `/etc/ld.so.conf`, the trusted folders: see ld.so(8)), without running a program.
 *
 * A library outside the trusted folders goes into the folder of the C library, because the image has no `ld.so.cache`.
 *
 * @param optional - names of libraries that the first program may load at run time, as far as this machine has them
 * @throws InputError with the program and the missing library
 */
export function sharedLibraries(
  programs: readonly string[],
  optional: readonly string[] = [],
): readonly SharedLibrary[] {
  const found = new Map<string, SharedLibrary>();
  const search = new LibrarySearch();
  const queue: LoadedObject[] = [];
  for (const program of programs) {
    const elf = readElf(program);
    if (elf === undefined) continue;
    if (elf.interpreter !== undefined) {
      search.checkLoader(program, elf.interpreter);
      found.set(elf.interpreter, { source: elf.interpreter, target: elf.interpreter });
    }
    queue.push({ path: realpathSync(program), elf, inherited: [] });
  }
  const libraries = new Map<string, string>();
  const [first] = queue;
  for (const name of first === undefined ? [] : optional) {
    const path = first && search.find(name, first, []);
    const elf = path === undefined ? undefined : readElf(path);
    if (path === undefined || elf === undefined) continue;
    libraries.set(name, path);
    queue.push({ path: realpathSync(path), elf, inherited: [] });
  }
  for (let object = queue.shift(); object !== undefined; object = queue.shift()) {
    const rpath =
      object.elf.runpath.length > 0 ? object.inherited : [...expand(object, object.elf.rpath), ...object.inherited];
    for (const name of object.elf.needed) {
      if (libraries.has(name)) continue;
      const path = search.find(name, object, rpath);
      if (path === undefined) {
        throw new InputError(
          `${object.path} needs the shared library ${name}, which is not on this machine: install it, link statically, or pass an image that has it with --base`,
        );
      }
      libraries.set(name, path);
      const elf = readElf(path);
      if (elf !== undefined) queue.push({ path: realpathSync(path), elf, inherited: rpath });
    }
  }
  addLibcPlugins(libraries);
  const home = libcFolder(libraries);
  for (const [name, source] of libraries) {
    const trusted = search.isTrusted(dirname(source));
    const target = trusted || home === undefined ? source : join(home, basename(name));
    // The libraries include the loader by its name; it stays at the path of PT_INTERP.
    if (!found.has(target)) found.set(target, { source, target });
  }
  return [...found.values()].toSorted((a, b) => (a.target < b.target ? -1 : 1));
}

interface LoadedObject {
  readonly path: string;
  readonly elf: ElfFile;
  /** RPATH folders of the objects that loaded this one. */
  readonly inherited: readonly string[];
}

function libcFolder(libraries: ReadonlyMap<string, string>): string | undefined {
  const libc = [...libraries].find(([name]) => /^(libc\.so\.\d+|libc\.musl-.*|ld-musl-.*)$/.test(name))?.[1];
  return libc === undefined ? undefined : dirname(libc);
}

function addLibcPlugins(libraries: Map<string, string>): void {
  const libc = libraries.get("libc.so.6");
  if (libc === undefined) return;
  for (const name of LOADED_BY_LIBC) {
    const path = join(dirname(libc), name);
    if (isFile(path)) libraries.set(name, path);
  }
}

function expand(object: LoadedObject, folders: readonly string[]): string[] {
  return folders.map((folder) => folder.replaceAll(/\$(ORIGIN|\{ORIGIN\})/g, dirname(object.path)));
}

class LibrarySearch {
  readonly #configured = configuredFolders("/etc/ld.so.conf");
  readonly #trusted: ReadonlySet<string>;

  constructor() {
    const multiarch = TRUSTED.flatMap((folder) =>
      listFolder(folder)
        .filter((name) => /-linux-(gnu|musl)/.test(name))
        .map((name) => join(folder, name)),
    );
    this.#trusted = new Set([...multiarch, ...TRUSTED].flatMap((folder) => [folder, real(folder)]));
  }

  isTrusted(folder: string): boolean {
    return this.#trusted.has(folder);
  }

  /** A downloaded program could name any file of its user as its loader, which would go into the image. */
  checkLoader(program: string, loader: string): void {
    if (this.isTrusted(real(dirname(loader))) && isFile(loader) && readElf(real(loader)) !== undefined) return;
    throw new InputError(
      `${program} needs the dynamic loader ${loader}, which is not one of this machine's: link statically, or pass an image that has it with --base`,
    );
  }

  find(name: string, object: LoadedObject, rpath: readonly string[]): string | undefined {
    const fits = (path: string): boolean => isFile(path) && readElf(path)?.architecture === object.elf.architecture;
    if (name.includes("/")) return isAbsolute(name) && fits(name) ? name : undefined;
    const folders = [...rpath, ...expand(object, object.elf.runpath), ...this.#configured, ...this.#trusted];
    return folders
      .filter(isAbsolute)
      .map((folder) => join(folder, name))
      .find(fits);
  }
}

// ld.so.conf has folders and `include` patterns; in practice only the file name has a wildcard.
function configuredFolders(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  return text.split("\n").flatMap((raw) => {
    const line = raw.replace(/#.*/, "").trim();
    const include = /^include\s+(\S+)$/.exec(line)?.[1];
    if (include === undefined) return line.startsWith("/") ? [line] : [];
    const pattern = isAbsolute(include) ? include : join(dirname(file), include);
    const name = new RegExp(
      `^${basename(pattern)
        .replaceAll(/[.+^$(){}|[\]\\]/g, "\\$&")
        .replaceAll("*", ".*")}$`,
    );
    const names = listFolder(dirname(pattern)).filter((each) => name.test(each));
    return names
      .filter((each) => join(dirname(pattern), each) !== file)
      .flatMap((each) => configuredFolders(join(dirname(pattern), each)));
  });
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
