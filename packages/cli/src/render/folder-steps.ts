import { type Composition, type ImageChange, mapImages, type Step, stepsOf, traitsOf } from "@xfn/composition";
import type { FunctionPackage } from "@xfn/pipeline/packages";
import { oneLine } from "@xfn/program/terminal-text";
import { usageError } from "../errors/cli-error.ts";
import { isFolder } from "../input/absolute-image.ts";
import type { Output } from "../terminal/output.ts";
import type { RenderOptions } from "./render-options.ts";

/** What can name folders of functions. */
export interface FolderSources {
  readonly composition: Composition;
  /** The Functions of FUNCTIONS. */
  readonly functions: readonly FunctionPackage[];
}

/** The same with names of images. */
export interface BuiltSources extends FolderSources {
  /** The names of the images that were built. No registry has them. */
  readonly built: ReadonlySet<string>;
}

/**
 * Builds the images of the steps that name a function's folder: `image: ./functions/db`, `functionRef.package` and the
 * package of a Function likewise. A run never uses the image of an older version of the folder.
 *
 * @param onFolder - called with each folder before its build
 * @returns the same with the images' names
 * @throws CliError `Usage` with `--runner`, whose machine does not have the images
 * @throws InputError if a folder is not a function
 */
export async function buildFolderSteps(
  sources: FolderSources,
  options: RenderOptions,
  { output, signal, onFolder }: { output: Output; signal: AbortSignal; onFolder: (folder: string) => void },
): Promise<BuiltSources> {
  const { composition, functions } = sources;
  const imagesOfSteps = stepsOf(composition).map((step) => ({ step: step.name, image: imageOf(step, functions) }));
  const folderSteps = imagesOfSteps.filter(({ image }) => isFolder(image));
  if (options.runner !== undefined && folderSteps.length > 0) {
    throw usageError(
      `step "${oneLine(folderSteps[0]?.step ?? "", 100)}" names a folder, which xfn builds on this machine; with --runner, name an image`,
      ["Build and push it: xfn build FOLDER -t NAME, xfn push NAME"],
    );
  }
  const images = new Map<string, string>();
  for (const folder of new Set(folderSteps.map(({ image }) => image))) {
    onFolder(folder);
    // Loaded on demand: most steps name images.
    const { buildFolderImage } = await import("../build/folder-image.ts");
    images.set(folder, await buildFolderImage(folder, { cacheDir: options.cacheDir, output, signal }));
  }
  return {
    composition: images.size === 0 ? composition : mapImages(composition, (image) => builtImage(images.get(image))),
    functions: functions.map((fn) => {
      const image = images.get(fn.image ?? "");
      return image === undefined ? fn : { ...fn, image };
    }),
    built: new Set(images.values()),
  };
}

/** The image of a step; empty for a function that xfn does not start. */
function imageOf(step: Step, functions: readonly FunctionPackage[]): string {
  const { image, functionName } = traitsOf(step);
  if (functionName === undefined) return image ?? "";
  const fn = functions.find(({ name }) => name === functionName);
  return (fn?.target === undefined ? fn?.image : undefined) ?? "";
}

// No registry has the image, whatever --pull says.
function builtImage(image: string | undefined): ImageChange | undefined {
  return image === undefined ? undefined : { image, imagePullPolicy: "Never" };
}
