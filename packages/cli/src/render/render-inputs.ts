import { type Composition, checkConnectionKeys } from "@xfn/composition";
import type { JsonObject, JsonValue } from "@xfn/functionio";
import { documentsOfAll, STDIN, singleObject, sourceName } from "@xfn/input";
import { usageError } from "../errors/cli-error.ts";
import { readComposition } from "../input/composition-file.ts";
import type { DefinedComposite } from "./definition-file.ts";
import { overrideSteps, readFunctions } from "./functions-file.ts";
import type { RenderFiles, RenderOptions } from "./render-options.ts";

/** The input of a render, read from files. */
export interface RenderInputs {
  readonly composite: JsonObject;
  readonly composition: Composition;
  /** Existing composed resources. */
  readonly observed: readonly JsonValue[];
  /** The EnvironmentConfigs from which the Composition selects. */
  readonly environmentConfigs?: readonly JsonObject[];
}

/**
 * Reads the files of `xfn render`.
 *
 * @param onWarning - called for each warning
 * @throws CliError `Usage`
 * @throws InputError
 */
export async function readInputs(
  files: RenderFiles,
  options: RenderOptions,
  onWarning: (message: string) => void,
): Promise<RenderInputs> {
  const paths = [files.xr, files.composition, files.functions, options.observedResources, options.xrd];
  paths.push(...(options.environment ?? []));
  if (paths.filter((path) => path === STDIN).length > 1) throw usageError("only one of the files can be stdin (-)");
  const annotations = options.functionAnnotations ?? [];
  if (annotations.length > 0 && files.functions === undefined) {
    throw usageError("-a requires FUNCTIONS, the file with the Functions to annotate");
  }
  const given = await singleObject(files.xr, "the composite resource");
  if (given["kind"] === "Composition") {
    throw usageError(`${sourceName(files.xr)} is a Composition: the first argument is the composite resource`, [
      `Did you mean: xfn render ${files.composition} ${files.xr}`,
    ]);
  }
  const { composite, connectionKeys = [] } = await applyXrd(given, options.xrd);
  const composition = await readComposition(files.composition, onWarning, (parsed, document) =>
    checkConnectionKeys(parsed, connectionKeys, document),
  );
  const overrides = files.functions === undefined ? [] : await readFunctions(files.functions, annotations);
  const observed = options.observedResources === undefined ? [] : await documentsOfAll(options.observedResources);
  const functions = overrideSteps(composition.spec.functions, overrides, options.pull, (name) =>
    onWarning(`Function ${name} is not used: no pipeline step has that name`),
  );
  return {
    composite,
    composition: { ...composition, spec: { ...composition.spec, functions } },
    observed: observed.map(({ value }) => value),
    ...(options.environment && { environmentConfigs: await environmentConfigsOf(options.environment) }),
  };
}

// Loaded on demand: most renders have neither a definition nor environments.

async function applyXrd(composite: JsonObject, xrd: string | undefined): Promise<DefinedComposite> {
  if (xrd === undefined) return { composite };
  const { applyDefinition } = await import("./definition-file.ts");
  return applyDefinition(xrd, composite);
}

async function environmentConfigsOf(paths: readonly string[]): Promise<readonly JsonObject[]> {
  const { readEnvironment } = await import("./environment-files.ts");
  return readEnvironment(paths);
}
