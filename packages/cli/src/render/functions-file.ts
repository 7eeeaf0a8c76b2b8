import { type Composition, isComplete, stepsOf } from "@xfn/composition";
import { documentsByFile, InputError, positionOf } from "@xfn/input";
import type { ParsedDocument } from "@xfn/json/document";
import {
  duplicateName,
  type FunctionPackage,
  FunctionPackageError,
  RUNTIME_ANNOTATION,
  readFunctionDocument,
} from "@xfn/pipeline/packages";
import { usageError } from "../errors/cli-error.ts";
import { keyAndValue } from "../flags/key-value.ts";
import type { RenderOptions } from "./render-options.ts";

/**
 * Reads FUNCTIONS: a file or folder of `Function` documents (pkg.crossplane.io), as `crossplane render` takes it.
 *
 * @param annotations - `KEY=VALUE` of `-a`, for every Function
 * @throws InputError
 */
export async function readFunctions(path: string, annotations: readonly string[]): Promise<readonly FunctionPackage[]> {
  const annotated = annotations.map((text) => keyAndValue("-a", text));
  // Loaded on demand: most renders have no FUNCTIONS.
  const { absoluteImage } = await import("../input/absolute-image.ts");
  const overrides = (await documentsByFile(path)).flatMap(({ file, documents }) =>
    documents.map((document): FunctionPackage => {
      const override = readFunction(document, annotated);
      return override.image === undefined ? override : { ...override, image: absoluteImage(override.image, file) };
    }),
  );
  const twice = duplicateName(overrides);
  if (twice !== undefined) throw new InputError(`${path} has two Functions named ${twice}`);
  return overrides;
}

function readFunction(document: ParsedDocument, overrides: readonly (readonly [string, string])[]): FunctionPackage {
  try {
    return readFunctionDocument(document.value, overrides);
  } catch (cause) {
    if (!(cause instanceof FunctionPackageError)) throw cause;
    throw new InputError(`${document.source}: ${cause.message}`, { details: [positionOf(document)], cause });
  }
}

/** The Functions that replace the images of FunctionIO steps, by the name of the step. */
export type Overrides = ReadonlyMap<string, FunctionPackage>;

/**
 * Checks the Functions of a render. With `mode: Pipeline`, steps name their Functions. Otherwise, a Function replaces
 * the image of the step with its name.
 *
 * @param onWarning - called for annotations without an effect, and for each Function that no step has
 * @throws CliError `Usage` for a server: as a FunctionIO step, which is a program that reads stdin, and with
 *   `--fresh-functions`, because it keeps its state
 */
export function checkFunctions(
  functions: readonly FunctionPackage[],
  composition: Composition,
  options: Pick<RenderOptions, "freshFunctions" | "runner">,
  onWarning: (message: string) => void,
): Overrides {
  if (isComplete(composition)) {
    warnOfAnnotations(functions, onWarning);
    if (options.freshFunctions === true) refuseRunning(functions, options.runner);
    return new Map();
  }
  const steps = new Set(stepsOf(composition).map(({ name }) => name));
  const server = functions.find(({ name, target }) => target !== undefined && steps.has(name));
  if (server !== undefined) {
    throw usageError(
      `Function ${server.name}: ${RUNTIME_ANNOTATION}: Development means a gRPC server that is already running; a FunctionIO function is a program that reads stdin. Build it with \`xfn build\`, or test it with @xfn/functionio/testing`,
    );
  }
  for (const { name } of functions)
    if (!steps.has(name)) onWarning(`Function ${name} is not used: no pipeline step has that name`);
  return new Map(functions.map((fn) => [fn.name, fn]));
}

function warnOfAnnotations(functions: readonly FunctionPackage[], onWarning: (message: string) => void): void {
  for (const { name, ignored = [] } of functions)
    for (const annotation of ignored)
      onWarning(`Function ${name}: the annotation ${annotation} has no effect without Docker`);
}

function refuseRunning(functions: readonly FunctionPackage[], runner: string | undefined): void {
  if (runner !== undefined) {
    throw usageError(
      "--fresh-functions applies to functions that run here; with --runner, start the runner with --fresh-functions",
    );
  }
  const running = functions.find(({ target }) => target !== undefined);
  if (running === undefined) return;
  throw usageError(
    `--fresh-functions cannot be used with Function ${running.name}: xfn does not start a function with render.crossplane.io/runtime: Development`,
  );
}
