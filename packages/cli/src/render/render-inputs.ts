import { type Composition, checkConnectionKeys, isComplete, stepsOf, traitsOf } from "@xfn/composition";
import { documentsOfAll, singleDocument, sourceName } from "@xfn/input";
import type { JsonObject, JsonValue } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import type { KindSchemas } from "@xfn/pipeline";
import { CliError, usageError } from "../errors/cli-error.ts";
import { describeFinding, readComposition } from "../input/composition-file.ts";
import type { DefinedComposite } from "./definition-file.ts";
import { checkFunctions, readFunctions } from "./functions-file.ts";
import type { PipelineInputs } from "./pipeline-inputs.ts";
import { refusePipelineOptions } from "./pipeline-options.ts";
import type { RenderFiles, RenderOptions } from "./render-options.ts";
import { type ImageBuild, type ResolvedImages, resolveImages } from "./step-images.ts";

/** The input of a render, read from files. */
export interface RenderInputs extends ResolvedImages {
  readonly composite: JsonObject;
  /** Existing composed resources. */
  readonly observed: readonly JsonValue[];
  /** The EnvironmentConfigs from which the Composition selects. */
  readonly environmentConfigs?: readonly JsonObject[];
  /** The Secrets of webhooks of functions[]. */
  readonly credentials?: PipelineInputs["credentials"];
  /** The schemas for steps with `schema: Strict`. */
  readonly schemas?: KindSchemas;
  /** Set for `mode: Pipeline`. */
  readonly pipeline?: PipelineInputs & { readonly isLegacy: boolean };
  /** Warnings about the connection keys of `--xrd`, after a run in which functions exposed these names. */
  readonly keyWarnings: (exposed: readonly string[]) => readonly string[];
}

export interface RenderCalls {
  readonly onWarning: (message: string) => void;
  /** Absent: nothing runs, as in a replay. */
  readonly build?: ImageBuild | undefined;
}

/**
 * Reads the files of `xfn render`, and builds the functions whose folders they name.
 *
 * @throws CliError `Usage`
 * @throws InputError
 */
export async function readInputs(
  files: RenderFiles,
  options: RenderOptions,
  { onWarning, build }: RenderCalls,
): Promise<RenderInputs> {
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
  const functions = files.functions === undefined ? [] : await readFunctions(files.functions, annotations);
  const observed = options.observedResources === undefined ? [] : await documentsOfAll(options.observedResources);
  const objects = observed.map(({ value }) => value);
  const pipeline = await pipelineOf(composition, options, objects);
  const credentials = pipeline === undefined ? await credentialsOf(composition, options) : undefined;
  const schemas = await schemasOf(composition, options, onWarning);
  const environmentConfigs = options.environment && (await environmentConfigsOf(options.environment));
  const overrides = checkFunctions(functions, composition, options, onWarning);
  const sources = { composition, path: files.composition, functions, overrides };
  return {
    ...(await resolveImages(sources, options, build)),
    composite,
    observed: objects,
    ...(credentials && { credentials }),
    ...schemas,
    ...(pipeline && { pipeline: { ...pipeline, isLegacy } }),
    keyWarnings: (exposed) =>
      checkConnectionKeys(composition, connectionKeys, document, exposed).map((finding) =>
        describeFinding(files.composition, finding),
      ),
    ...(environmentConfigs && { environmentConfigs }),
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
