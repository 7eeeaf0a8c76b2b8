import { readFileSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { isObject } from "@xfn/functionio";
import { InputError, statInput, unreadable } from "@xfn/input";
import { type FolderFile, folderFiles } from "./folder-files.ts";

/** A folder that is to become an image. Paths are relative to `dir`. */
export type FunctionFolder =
  | { readonly kind: "script"; readonly dir: string; readonly entry: string }
  | {
      readonly kind: "executable";
      readonly dir: string;
      readonly entry: string;
      readonly files: readonly FolderFile[];
    };

// Few, so that there is no doubt which one counts. `package.json` comes first.
const ENTRIES = ["function.ts", "src/function.ts", "index.ts", "src/index.ts", "function.js", "index.js"] as const;
const SOURCE = /\.[cm]?[jt]s$/;
// A package.json of more than this is none.
const MAX_PACKAGE_JSON_BYTES = 1024 * 1024;

/**
 * Finds out what a folder holds. In this order: `--entrypoint`; an executable file named `function`; the `exports` or `main`
 * of `package.json`, if that is a source file that exists; `function.ts`, `src/function.ts`, `index.ts`, `src/index.ts`,
 * `function.js`, `index.js`; the only executable file.
 *
 * @throws InputError that says what was looked for
 */
export function inspectFolder(path: string, entrypoint?: string): FunctionFolder {
  const stat = statInput(path);
  const dir = resolve(stat.isDirectory() ? path : dirname(path));
  const chosen = entrypoint ?? (stat.isDirectory() ? undefined : basename(path));
  if (chosen !== undefined) return chosenEntry(dir, chosen);
  if (isExecutableFile(join(dir, "function"))) return executable(dir, "function");
  const source = [packageEntry(dir), ...ENTRIES].find((entry) => entry !== undefined && isFile(join(dir, entry)));
  if (source !== undefined) return { kind: "script", dir, entry: source };
  const files = folderFiles(dir);
  const programs = files.filter((file) => file.executable && !file.path.includes("/"));
  const [only, second] = programs;
  if (only === undefined) {
    throw new InputError(
      `${path} holds no function: there is no executable file in it, and no ${ENTRIES.join(", ")} or package.json with a "main"; --entrypoint names another file`,
    );
  }
  if (second !== undefined) {
    const names = programs.map((file) => file.path).join(", ");
    throw new InputError(
      `${path} holds ${programs.length} executable files (${names}): name the function's own \`function\`, or give --entrypoint`,
    );
  }
  return { kind: "executable", dir, entry: only.path, files };
}

function chosenEntry(dir: string, chosen: string): FunctionFolder {
  const entry = relative(dir, resolve(dir, chosen)).split(sep).join("/");
  if (entry.startsWith("../") || entry === ".." || entry === "")
    throw new InputError(`the entrypoint ${chosen} is not in the folder ${dir}`);
  const path = join(dir, entry);
  if (!statInput(path).isFile()) throw new InputError(`the entrypoint ${path} is not a file`);
  // A script with a first line of its own is run as it is; a module is bundled.
  if (SOURCE.test(entry) && !isExecutableFile(path)) return { kind: "script", dir, entry };
  if (!isExecutableFile(path)) throw new InputError(`the entrypoint ${path} is not executable: chmod +x ${path}`);
  return executable(dir, entry);
}

function executable(dir: string, entry: string): FunctionFolder {
  return { kind: "executable", dir, entry, files: folderFiles(dir) };
}

function packageEntry(dir: string): string | undefined {
  const path = join(dir, "package.json");
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile() || stat.size > MAX_PACKAGE_JSON_BYTES) return undefined;
  let manifest: unknown;
  try {
    manifest = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw unreadable(path, error);
  }
  if (!isObject(manifest)) return undefined;
  const exported = isObject(manifest["exports"])
    ? (manifest["exports"]["."] ?? manifest["exports"])
    : manifest["exports"];
  const condition = isObject(exported) ? (exported["import"] ?? exported["default"]) : exported;
  const entry = [condition, manifest["main"]].find((each) => typeof each === "string");
  if (typeof entry !== "string" || !SOURCE.test(entry)) return undefined;
  const inside = relative(dir, resolve(dir, entry)).split(sep).join("/");
  return inside.startsWith("../") ? undefined : inside;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isExecutableFile(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true && (stat.mode & 0o111) !== 0;
}
