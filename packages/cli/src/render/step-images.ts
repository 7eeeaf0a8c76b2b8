import { type Composition, mapImages, type Step, stepsOf, traitsOf } from "@xfn/composition";
import type { FunctionPackage } from "@xfn/pipeline/packages";
import { oneLine } from "@xfn/program/terminal-text";
import { usageError } from "../errors/cli-error.ts";
import type { Overrides } from "./functions-file.ts";
import type { RenderOptions } from "./render-options.ts";

/** A Composition and its Functions, as files name their images. */
export interface ImageSources {
  readonly composition: Composition;
  /** The file of the Composition. */
  readonly path: string;
  /** The Functions of FUNCTIONS; their images are absolute. */
  readonly functions: readonly FunctionPackage[];
  readonly overrides: Overrides;
}

/** The same with the images that run. */
export interface ResolvedImages {
  readonly composition: Composition;
  readonly functions: readonly FunctionPackage[];
  /** The names of the images that were built. No registry has them. */
  readonly built: ReadonlySet<string>;
}

/**
 * Builds the image of a function's folder, and returns its name. A run never uses the image of an older version of the
 * folder.
 */
export type ImageBuild = (folder: string) => Promise<string>;

/**
 * Resolves the images of a Composition's steps. Names of folders and layouts become absolute, relative to the file. The
 * package of a Function replaces the image of the FunctionIO step with the same name. Images of folders are built:
 * `image: ./functions/db`, `functionRef.package` and the package of a Function likewise.
 *
 * @param build - absent: folders stay, because nothing runs
 * @throws CliError `Usage` for a folder with `--runner`, whose machine does not have its image
 * @throws InputError if a folder is not a function
 */
export async function resolveImages(
  { composition, path, functions, overrides }: ImageSources,
  { pull, runner }: Pick<RenderOptions, "pull" | "runner">,
  build: ImageBuild | undefined,
): Promise<ResolvedImages> {
  const steps = stepsOf(composition);
  if (steps.length === 0) return { composition, functions, built: new Set() };
  // Loaded on demand: templates alone name no images.
  const { absoluteImage, isFolder } = await import("../input/absolute-image.ts");
  const imageOf = (image: string, { name }: Step): string => overrides.get(name)?.image ?? absoluteImage(image, path);
  const images = new Map<string, string>();
  for (const step of build === undefined ? [] : steps) {
    const { image, functionName } = traitsOf(step);
    const folder = image === undefined ? packageOf(functionName, functions) : imageOf(image, step);
    if (folder === undefined || !isFolder(folder) || images.has(folder)) continue;
    if (runner !== undefined) throw folderError(step);
    images.set(folder, (await build?.(folder)) ?? folder);
  }
  return {
    composition: mapImages(composition, (given, step) => {
      const image = imageOf(given, step);
      const built = images.get(image);
      // No registry has the image, so --pull does not apply.
      if (built !== undefined) return { image: built, imagePullPolicy: "Never" };
      return { image, imagePullPolicy: pull ?? overrides.get(step.name)?.pullPolicy };
    }),
    functions: functions.map((fn) => {
      const image = images.get(fn.image ?? "");
      return image === undefined ? fn : { ...fn, image };
    }),
    built: new Set(images.values()),
  };
}

/** The package of a Function that xfn starts. */
function packageOf(name: string | undefined, functions: readonly FunctionPackage[]): string | undefined {
  const fn = functions.find((one) => one.name === name);
  return fn?.target === undefined ? fn?.image : undefined;
}

function folderError({ name }: Step): Error {
  return usageError(
    `step "${oneLine(name, 100)}" names a folder, which xfn builds on this machine; with --runner, name an image`,
    ["Build and push it: xfn build FOLDER -t NAME, xfn push NAME"],
  );
}
