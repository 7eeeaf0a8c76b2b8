import { readdirSync } from "node:fs";
import { usageError } from "../errors/cli-error.ts";

/** Finds the only package file in a folder. @throws CliError `Usage` unless there is exactly one */
export function onlyPackageIn(folder: string): string {
  const found = readdirSync(folder).filter((name) => name.endsWith(".xpkg"));
  const [only, second] = found;
  if (only === undefined)
    throw usageError(`${folder} has no .xpkg file: name one, or build one with \`xfn xpkg build\``);
  if (second !== undefined)
    throw usageError(`${folder} has ${found.length} .xpkg files: name one`, found.toSorted().slice(0, 20));
  return only;
}

/**
 * The files of `-f`, which is repeatable and may contain commas. Default: the only one in this folder.
 *
 * @throws CliError
 */
export function packageFilesOf(lists: readonly string[] | undefined): readonly string[] {
  const paths = (lists ?? []).flatMap((list) => list.split(","));
  if (paths.includes("")) throw usageError("-f requires FILE,FILE, not an empty name");
  return paths.length > 0 ? paths : [onlyPackageIn(process.cwd())];
}
