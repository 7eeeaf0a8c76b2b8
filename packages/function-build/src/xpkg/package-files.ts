import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, extname, join, relative, resolve, sep } from "node:path";
import { InputError, unreadable } from "@xfn/input";

// History, and npm packages, which may contain YAML files.
const IGNORED_FOLDERS: ReadonlySet<string> = new Set([".git", "node_modules"]);
// Providers have a thousand CRDs; a folder with more YAML files is the wrong one.
const MAX_FILES = 20_000;
const MAX_DEPTH = 64;

/** Options of {@link packageFiles}. */
export interface PackageFilesOptions {
  /** An absolute folder to skip: examples are not installed with the package. */
  readonly without?: string;
  /** Shell patterns of files, relative to the folder. `*` and `?` do not match a slash. */
  readonly ignore?: readonly string[] | undefined;
  /** Called for what the author may expect in the package: `*.YAML`, JSON objects, and links to folders. */
  readonly onLeftOut?: ((path: string) => void) | undefined;
}

/**
 * The YAML files of a folder and its subfolders that are not empty, by path.
 *
 * @throws InputError for a folder that cannot be read, and for a link out of it
 */
export function packageFiles(root: string, options: PackageFilesOptions = {}): readonly string[] {
  const files: string[] = [];
  const real = realpathSync(root);
  const ignored = (options.ignore ?? []).map(patternOf);
  const collect = (folder: string, depth: number): void => {
    if (depth > MAX_DEPTH)
      throw new InputError(`${folder} is nested deeper than ${MAX_DEPTH} folders: is ${root} the package's folder?`);
    for (const name of namesIn(folder)) {
      const path = join(folder, name);
      const stat = lstatSync(path);
      if (stat.isDirectory()) {
        if (!IGNORED_FOLDERS.has(name) && path !== options.without) collect(path, depth + 1);
        continue;
      }
      const inside = relative(root, path).split(sep).join("/");
      if (ignored.some((pattern) => pattern.test(inside))) continue;
      if (![".yaml", ".yml"].includes(extname(name))) {
        if (mayBeExpected(path, stat)) options.onLeftOut?.(path);
        continue;
      }
      // The target would be published with the package: a downloaded folder could link to any file of its user.
      const target = stat.isSymbolicLink() ? realpathOf(path) : path;
      if (stat.isSymbolicLink() && !target.startsWith(`${real}${sep}`))
        throw new InputError(`${path} is a link out of the package's folder`);
      const { size } = statSync(target);
      if (!statSync(target).isFile()) throw new InputError(`${path} is not a regular file`);
      if (size > 0) files.push(path);
      if (files.length > MAX_FILES)
        throw new InputError(`${root} has more than ${MAX_FILES} YAML files; is it the package's folder?`);
    }
  };
  collect(resolve(root), 0);
  return files;
}

/** Larger JSON files are data. */
const MAX_OBJECT_BYTES = 1024 * 1024;

/** Whether a file that no package has looks like one of its objects. */
function mayBeExpected(path: string, stat: Stats): boolean {
  try {
    if (stat.isSymbolicLink()) return statSync(path).isDirectory();
    if (!stat.isFile()) return false;
    const suffix = extname(path).toLowerCase();
    if (suffix === ".yaml" || suffix === ".yml") return true;
    return suffix === ".json" && stat.size <= MAX_OBJECT_BYTES && /"apiVersion"\s*:/.test(readFileSync(path, "utf8"));
  } catch {
    // A link that leads nowhere, or a file of another user. The package does not need it.
    return false;
  }
}

/**
 * The YAML files of a folder with examples, which are published with a package.
 *
 * @throws InputError as {@link packageFiles}, and for a link out of the folder that has it
 */
export function exampleFiles(folder: string): readonly string[] {
  const parent = dirname(folder);
  // A downloaded folder could have a link to the YAML files of its user.
  if (lstatSync(folder).isSymbolicLink() && !realpathOf(folder).startsWith(`${realpathOf(parent)}${sep}`))
    throw new InputError(`${folder} is a link out of ${parent}: name the folder that it links to with --examples-root`);
  return packageFiles(folder);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch (error) {
    throw unreadable(folder, error);
  }
}

function realpathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

/**
 * Translates a pattern of Go's `filepath.Match`, which `crossplane xpkg build` uses: `*`, `?`, `[a-z]` and a backslash.
 */
function patternOf(pattern: string): RegExp {
  const parts = pattern.replace(/^\.\//, "").match(/\\.|\[\^?(?:\\.|[^\]])+\]|[^]/g) ?? [];
  const source = parts.map((part) => {
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    return part.length > 1 && part.startsWith("[") ? part : (part.at(-1) ?? "").replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  });
  try {
    return new RegExp(`^${source.join("")}$`);
  } catch {
    throw new InputError(`--ignore: expected a pattern such as ./test/*, not ${JSON.stringify(pattern)}`);
  }
}
