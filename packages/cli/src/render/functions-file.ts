import { type Composition, mapImages, type PullPolicy, stepsOf } from "@xfn/composition";
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

/**
 * Applies FUNCTIONS and `--pull` to the steps. The package of a Function replaces the image of the step with the same
 * name.
 *
 * @param onUnused - called with the name of each Function that no step has
 * @throws CliError `Usage` for a Function that is a server: a step has a program that reads stdin
 */
export function overrideSteps(
  composition: Composition,
  overrides: readonly FunctionPackage[],
  pull: PullPolicy | undefined,
  onUnused: (name: string) => void,
): Composition {
  const steps = stepsOf(composition);
  const byName = new Map(overrides.map((override) => [override.name, override]));
  const server = overrides.find(({ name, target }) => target !== undefined && steps.some((step) => step.name === name));
  if (server !== undefined) {
    throw usageError(
      `Function ${server.name}: ${RUNTIME_ANNOTATION}: Development means a gRPC server that is already running; a FunctionIO function is a program that reads stdin. Build it with \`xfn build\`, or test it with @xfn/functionio/testing`,
    );
  }
  for (const { name } of overrides) if (!steps.some((step) => step.name === name)) onUnused(name);
  return mapImages(composition, (_, { name }) => {
    const { image, pullPolicy } = byName.get(name) ?? {};
    return { image, imagePullPolicy: pull ?? pullPolicy };
  });
}
