import { type Composition, checkConnectionKeys } from "@xfn/composition";
import type { JsonObject, JsonValue } from "@xfn/functionio";
import { documentsOfAll, STDIN, singleObject } from "@xfn/input";
import { usageError } from "../errors/cli-error.ts";
import { readComposition } from "../input/composition-file.ts";
import type { DefinedComposite } from "./definition-file.ts";
import { overrideSteps, readFunctions } from "./functions-file.ts";
import type { RenderFiles, RenderOptions } from "./render.ts";

/** What a render is made of, read from files. */
export interface RenderInputs {
  readonly composite: JsonObject;
  readonly composition: Composition;
  /** Composed resources that exist. */
  readonly observed: readonly JsonValue[];
  /** The EnvironmentConfigs from which the Composition selects. */
  readonly environmentConfigs?: readonly JsonObject[];
}

/**
 * Reads the files of `xfn render`.
 *
 * @param onWarning - told of what is suspicious but usable
 * @throws CliError `Usage` or `Input`
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
    throw usageError("-a puts annotations on the Functions of FUNCTIONS, which is not given");
  }
  const given = await singleObject(files.xr, "the composite resource");
  const { composite, connectionKeys = [] } = await defined(given, options.xrd);
  const composition = await readComposition(files.composition, onWarning, (parsed, document) =>
    checkConnectionKeys(parsed, connectionKeys, document),
  );
  const overrides = files.functions === undefined ? [] : await readFunctions(files.functions, annotations);
  const observed = options.observedResources === undefined ? [] : await documentsOfAll(options.observedResources);
  const functions = overrideSteps(composition.spec.functions, overrides, options.pull, (name) =>
    onWarning(`the Function ${name} has no step of its name in the Composition, and is not used`),
  );
  return {
    composite,
    composition: { ...composition, spec: { ...composition.spec, functions } },
    observed: observed.map(({ value }) => value),
    ...(options.environment && { environmentConfigs: await environmentOf(options.environment) }),
  };
}

// Most renders have neither of these, and need not load what they take.

async function defined(composite: JsonObject, xrd: string | undefined): Promise<DefinedComposite> {
  if (xrd === undefined) return { composite };
  const { applyDefinition } = await import("./definition-file.ts");
  return applyDefinition(xrd, composite);
}

async function environmentOf(paths: readonly string[]): Promise<readonly JsonObject[]> {
  const { readEnvironment } = await import("./environment-files.ts");
  return readEnvironment(paths);
}
