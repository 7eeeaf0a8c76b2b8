import { STDIN } from "@xfn/input";
import { usageError } from "../errors/cli-error.ts";
import { isFileSource } from "../validate/extension-source.ts";
import type { RenderFiles, RenderOptions } from "./render-options.ts";

/** A file or folder of the command line. */
export interface InputPath {
  /** The argument or flag that names it. */
  readonly name: string;
  readonly path: string;
}

/** The files and folders that a render reads, in the order of the command line. */
export function inputPaths(
  files: Partial<RenderFiles> & { readonly operation?: string },
  options: Partial<RenderOptions>,
): readonly InputPath[] {
  const named: readonly (readonly [name: string, paths: readonly (string | undefined)[]])[] = [
    ["OPERATION", [files.operation]],
    ["XR", [files.xr]],
    ["COMPOSITION", [files.composition]],
    ["FUNCTIONS", [files.functions]],
    ["--observed-resources", [options.observedResources]],
    ["--xrd", [options.xrd]],
    ["--crds", (options.crds ?? []).flatMap((list) => list.split(",")).filter(isFileSource)],
    ["--environment", options.environment ?? []],
    ["--required-resources", options.requiredResources ?? []],
    ["--extra-resources", options.extraResources ?? []],
    ["--required-schemas", [options.requiredSchemas]],
    ["--function-credentials", [options.functionCredentials]],
    ["--context-files", (options.contextFiles ?? []).map((text) => text.slice(text.indexOf("=") + 1))],
  ];
  return named.flatMap(([name, paths]) => paths.flatMap((path) => (path === undefined ? [] : [{ name, path }])));
}

/**
 * Refuses stdin for two inputs: the second would find it empty.
 *
 * @throws CliError `Usage` that names both
 */
export function refuseSecondStdin(paths: readonly InputPath[]): void {
  const [first, second] = paths.filter(({ path }) => path === STDIN);
  if (first === undefined || second === undefined) return;
  const both = first.name === second.name ? `two ${first.name}` : `${first.name} and ${second.name}`;
  throw usageError(`${both} are stdin (-), which can be read only once: write one of them to a file`);
}
