import { readdirSync } from "node:fs";
import { usageError } from "../errors/cli-error.ts";

/** The package's file in a folder, where none was named. @throws CliError `Usage` unless there is exactly one */
export function onlyPackageIn(folder: string): string {
  const found = readdirSync(folder).filter((name) => name.endsWith(".xpkg"));
  const [only, second] = found;
  if (only === undefined)
    throw usageError(`there is no .xpkg file in ${folder}: name one, or make one with \`xfn xpkg build\``);
  if (second !== undefined)
    throw usageError(`there are ${found.length} .xpkg files in ${folder}: name one`, found.toSorted().slice(0, 20));
  return only;
}

/** The files of `-f`, which may be given several times or hold commas; without it the one in this folder. @throws CliError */
export function packageFilesOf(lists: readonly string[] | undefined): readonly string[] {
  const paths = (lists ?? []).flatMap((list) => list.split(","));
  if (paths.includes("")) throw usageError("-f takes FILE,FILE, not an empty name");
  return paths.length > 0 ? paths : [onlyPackageIn(process.cwd())];
}
