import { readdirSync } from "node:fs";
import {
  type ImageConfig,
  ImageError,
  type Platform,
  type ReadArchiveOptions,
  type ReadArchiveResult,
  readArchive,
} from "@xfn/oci-rootfs";
import { inputError, usageError } from "../errors.ts";
import { statInput } from "../input/read-input.ts";
import { layerLabel, XPKG_KEY } from "./xpkg-format.ts";

/** What is wrong with a file itself; a full disk is another matter. */
const WRONG_FILE: ReadonlySet<string> = new Set([
  "DigestMismatch",
  "InvalidConfig",
  "InvalidManifest",
  "TooLarge",
  "UnsafeLayer",
  "Unsupported",
]);

/**
 * Reads packages' files into a layout, their layers annotated as the labels in them say.
 *
 * @throws CliError `Input` for a file that is not there, or is no image
 */
export async function readPackageArchive(
  options: Omit<ReadArchiveOptions, "layerAnnotations">,
): Promise<ReadArchiveResult> {
  for (const path of options.paths) statInput(path);
  try {
    return await readArchive({
      ...options,
      layerAnnotations({ config }, { digest }) {
        const value = config?.Labels?.[layerLabel(digest)];
        return value === undefined ? undefined : { [XPKG_KEY]: value };
      },
    });
  } catch (error) {
    if (error instanceof ImageError && WRONG_FILE.has(error.code)) throw inputError(error.message, [], error);
    throw error;
  }
}

/** What an archive's image is for; undefined for a package without a runtime. */
export function archivePlatform(config: ImageConfig | undefined): Platform | undefined {
  const { os, architecture, variant } = config ?? {};
  if (!os || !architecture) return undefined;
  return { os, architecture, ...(variant && { variant }) };
}

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
  if (paths.includes("")) throw inputError("a package's file has no name: -f takes FILE,FILE");
  return paths.length > 0 ? paths : [onlyPackageIn(process.cwd())];
}
