import {
  type Composition,
  CompositionError,
  OPERATION_API_VERSION,
  parseOperation,
  withWatchedResource,
} from "@xfn/composition";
import { asInputError, documentsOfAll, InputError, singleDocument, sourceName } from "@xfn/input";
import { isObject, type JsonObject, type KubernetesObject, objectAt, textAt } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { usageError } from "../errors/cli-error.ts";
import { readFunctions } from "../render/functions-file.ts";
import { type PipelineInputs, readPipelineInputs } from "../render/pipeline-inputs.ts";
import type { RenderCalls } from "../render/render-inputs.ts";
import { type ResolvedImages, resolveImages } from "../render/step-images.ts";
import type { OperationFiles, OperationOptions } from "./operation-options.ts";

/** The input of a render of an Operation, read from files. */
export interface OperationInputs extends ResolvedImages {
  readonly operation: KubernetesObject;
  readonly pipeline: PipelineInputs;
}

/**
 * Reads the files of `xfn operation render`, and builds the functions whose folders they name.
 *
 * @throws CliError `Usage`
 * @throws InputError
 */
export async function readOperationInputs(
  files: OperationFiles,
  options: OperationOptions,
  { build }: RenderCalls,
): Promise<OperationInputs> {
  const annotations = options.functionAnnotations ?? [];
  if (annotations.length > 0 && files.functions === undefined)
    throw usageError("-a requires FUNCTIONS, the file with the Functions to annotate");
  const watched = options.watchedResource === undefined ? undefined : await watchedObject(options.watchedResource);
  const operation = operationIn(await singleDocument(files.operation, "the Operation"), watched);
  const functions = files.functions === undefined ? [] : await readFunctions(files.functions, annotations);
  const sources = { composition: composing(operation), path: files.operation, functions, overrides: new Map() };
  return {
    ...(await resolveImages(sources, options, build)),
    operation: operation.value,
    pipeline: await readPipelineInputs(options, watched === undefined ? [] : [watched]),
  };
}

type OperationDocument = ParsedDocument & { readonly value: KubernetesObject };

const OWNERS = ["CronOperation", "WatchOperation"];

/** The Operation of a document, or the one that a CronOperation or WatchOperation creates, with its name. */
function operationIn(
  document: ParsedDocument & { readonly value: JsonObject },
  watched?: JsonObject,
): OperationDocument {
  const { value } = document;
  const kind = textAt(value, "kind") ?? "";
  const isOwner = OWNERS.includes(kind);
  if (textAt(value, "apiVersion") !== OPERATION_API_VERSION || (kind !== "Operation" && !isOwner))
    throw new InputError(
      `${sourceName(document.source ?? "")} is not an Operation, CronOperation or WatchOperation of ${OPERATION_API_VERSION}`,
    );
  const name = textAt(value, "metadata", "name") ?? "";
  const template = isOwner ? objectAt(value, "spec", "operationTemplate") : value;
  const spec = objectAt(template, "spec");
  const object = {
    apiVersion: OPERATION_API_VERSION,
    kind: "Operation",
    metadata: { ...objectAt(template, "metadata"), name },
    spec: watched === undefined ? spec : withWatchedResource(spec, referenceTo(watched)),
  };
  return {
    ...document,
    value: object,
    positionOf: (path) => document.positionOf(isOwner ? ["spec", "operationTemplate", ...path] : path),
  };
}

function referenceTo(object: JsonObject): Parameters<typeof withWatchedResource>[1] {
  const namespace = textAt(object, "metadata", "namespace");
  const [apiVersion = "", kind = ""] = [textAt(object, "apiVersion"), textAt(object, "kind")];
  const name = textAt(object, "metadata", "name") ?? "";
  return { apiVersion, kind, name, ...(namespace && { namespace }) };
}

async function watchedObject(path: string): Promise<JsonObject> {
  const objects = (await documentsOfAll(path)).map(({ value }) => value).filter(isObject);
  const [object, ...more] = objects;
  if (object !== undefined && more.length === 0) return object;
  throw usageError(`--watched-resource must have one object; ${sourceName(path)} has ${objects.length}`);
}

/** A Composition with the steps of an Operation, for all that opens the functions of steps. */
function composing(document: OperationDocument): Composition {
  const { metadata, steps } = asInputError(
    document.source ?? "",
    () => parseOperation(document),
    (error) => error instanceof CompositionError,
  );
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata,
    spec: {
      compositeTypeRef: { apiVersion: OPERATION_API_VERSION, kind: "Operation" },
      mode: "Pipeline",
      pipeline: steps,
      resources: [],
      patchSets: [],
      functions: [],
      undesiredResources: "Keep",
    },
  };
}
