import { type Composition, checkConnectionKeys, isComplete, mapImages, stepsOf, traitsOf } from "@xfn/composition";
import { documentsOfAll, singleDocument, sourceName } from "@xfn/input";
import type { JsonObject, JsonValue } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import type { KindSchemas } from "@xfn/pipeline";
import type { FunctionPackage } from "@xfn/pipeline/packages";
import { CliError, usageError } from "../errors/cli-error.ts";
import { describeFinding, readComposition } from "../input/composition-file.ts";
import type { DefinedComposite } from "./definition-file.ts";
import { overrideSteps, readFunctions } from "./functions-file.ts";
import { refuseSecondStdin } from "./input-paths.ts";
import type { PipelineInputs } from "./pipeline-inputs.ts";
import { refusePipelineOptions } from "./pipeline-options.ts";
import type { RenderFiles, RenderOptions } from "./render-options.ts";

/** The input of a render, read from files. */
export interface RenderInputs {
  readonly composite: JsonObject;
  readonly composition: Composition;
  /** Existing composed resources. */
  readonly observed: readonly JsonValue[];
  /** The EnvironmentConfigs from which the Composition selects. */
  readonly environmentConfigs?: readonly JsonObject[];
  /** The Secrets of webhooks of functions[]. */
  readonly credentials?: PipelineInputs["credentials"];
  /** The schemas for steps with `schema: Strict`. */
  readonly schemas?: KindSchemas;
  /** What the functions of `mode: Pipeline` can have beside state. */
  readonly pipeline?: PipelineInputs & { readonly isLegacy: boolean };
  /** The Functions of FUNCTIONS; none without it. */
  readonly functions: readonly FunctionPackage[];
  /** Warnings about the connection keys of `--xrd`, after a run in which functions exposed these names. */
  readonly keyWarnings: (exposed: readonly string[]) => readonly string[];
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
  refuseSecondStdin(files, options);
  const annotations = options.functionAnnotations ?? [];
  if (annotations.length > 0 && files.functions === undefined) {
    throw usageError("-a requires FUNCTIONS, the file with the Functions to annotate");
  }
  const given = await singleDocument(files.xr, "the composite resource");
  if (given.value["kind"] === "Composition") {
    throw usageError(`${sourceName(files.xr)} is a Composition: the first argument is the composite resource`, [
      `Did you mean: xfn render ${[files.composition, files.xr, files.functions].filter(Boolean).join(" ")}`,
    ]);
  }
  const { composite, connectionKeys = [], isLegacy = false } = await applyXrd(given, options.xrd, onWarning);
  const { composition, document } = await readComposition(files.composition, onWarning);
  const overrides = files.functions === undefined ? [] : await readFunctions(files.functions, annotations);
  const observed = options.observedResources === undefined ? [] : await documentsOfAll(options.observedResources);
  const objects = observed.map(({ value }) => value);
  const pipeline = await pipelineOf(composition, options, objects);
  const credentials = pipeline === undefined ? await credentialsOf(composition, options) : undefined;
  if (pipeline !== undefined) {
    warnOfAnnotations(overrides, onWarning);
    if (options.freshFunctions === true) refuseRunning(overrides, options);
  }
  const { pull } = options;
  const withImages =
    pipeline === undefined
      ? overrideSteps(composition, overrides, pull, (name) =>
          onWarning(`Function ${name} is not used: no pipeline step has that name`),
        )
      : mapImages(composition, () => ({ imagePullPolicy: pull }));
  return {
    composite,
    composition: withImages,
    observed: objects,
    functions: overrides,
    ...(credentials && { credentials }),
    ...(await schemasOf(composition, options, onWarning)),
    ...(pipeline && { pipeline: { ...pipeline, isLegacy } }),
    keyWarnings: (exposed) =>
      checkConnectionKeys(composition, connectionKeys, document, exposed).map((finding) =>
        describeFinding(files.composition, finding),
      ),
    ...(options.environment && { environmentConfigs: await environmentConfigsOf(options.environment) }),
  };
}

async function pipelineOf(
  composition: Composition,
  options: RenderOptions,
  observed: readonly JsonValue[],
): Promise<PipelineInputs | undefined> {
  const { metadata, spec } = composition;
  if (isComplete(composition)) {
    const { readPipelineInputs } = await import("./pipeline-inputs.ts");
    return await readPipelineInputs(options, observed);
  }
  refusePipelineOptions(options, hasCredentials(composition) ? ["functionCredentials"] : []);
  const composes = spec.resources.length > 0 || spec.functions.length > 0;
  if (spec.pipeline === undefined || composes) return undefined;
  throw new CliError(
    "Failed",
    `the Composition ${metadata.name ?? ""} has steps in spec.pipeline, and no mode: Pipeline; set spec.mode`,
  );
}

async function schemasOf(
  composition: Composition,
  options: RenderOptions,
  onWarning: (message: string) => void,
): Promise<{ schemas?: KindSchemas }> {
  const { crds = [], xrd } = options;
  if (!stepsOf(composition).some(({ schema }) => schema === "Strict")) {
    if (crds.length > 0) onWarning("--crds has no effect: no step of the Composition has schema: Strict");
    return {};
  }
  // Loaded on demand, with its CEL library.
  const { knownSchemas } = await import("./known-schemas.ts");
  return { schemas: await knownSchemas([...crds, ...(xrd === undefined ? [] : [xrd])], options) };
}

function hasCredentials(composition: Composition): boolean {
  return stepsOf(composition).some((step) => traitsOf(step).secrets.length > 0);
}

async function credentialsOf(
  composition: Composition,
  { functionCredentials }: RenderOptions,
): Promise<PipelineInputs["credentials"] | undefined> {
  if (!hasCredentials(composition)) return undefined;
  const { readPipelineInputs } = await import("./pipeline-inputs.ts");
  return (await readPipelineInputs(functionCredentials === undefined ? {} : { functionCredentials }, [])).credentials;
}

function warnOfAnnotations(functions: readonly FunctionPackage[], onWarning: (message: string) => void): void {
  for (const { name, ignored = [] } of functions)
    for (const annotation of ignored)
      onWarning(`Function ${name}: the annotation ${annotation} has no effect without Docker`);
}

/** @throws CliError `Usage` for a server that this command does not start, and that keeps its state */
function refuseRunning(functions: readonly FunctionPackage[], { runner }: RenderOptions): void {
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

// Loaded on demand: most renders have neither a definition nor environments.

async function applyXrd(
  composite: ParsedDocument & { readonly value: JsonObject },
  xrd: string | undefined,
  onWarning: (message: string) => void,
): Promise<DefinedComposite> {
  if (xrd === undefined) return { composite: composite.value };
  const { applyDefinition } = await import("./definition-file.ts");
  return applyDefinition(xrd, composite, onWarning);
}

async function environmentConfigsOf(paths: readonly string[]): Promise<readonly JsonObject[]> {
  const { readEnvironment } = await import("./environment-files.ts");
  return readEnvironment(paths);
}
