import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@xfn/json";
import { RequirementsError } from "../errors/requirements-error.ts";
import {
  type FunctionRequest,
  type FunctionResponse,
  NO_REQUIREMENTS,
  type Requirements,
  type ResourceSelector,
  type ResourceState,
  type SchemaSelector,
} from "../message/function-message.ts";
import type { FunctionRunOptions } from "./call-options.ts";
import type { FunctionCaller, FunctionRun } from "./function-client.ts";

/** Finds the objects and schemas that a function requires. */
export interface RequirementsSource {
  /** The matching resources, in a stable order; empty if none exist. */
  resources(selector: ResourceSelector): Promise<readonly ResourceState[]>;
  /** The OpenAPI v3 schema of a kind; undefined if the kind has none. */
  schema(selector: SchemaSelector): Promise<JsonObject | undefined>;
}

/** Crossplane's limit of calls of one step, including the first call. */
export const MAX_CALLS = 6;

/** The last run of a function, with the bytes and the rounded fields of all its calls. */
export interface SatisfiedRun extends Omit<FunctionRun, "isCached"> {
  readonly calls: number;
}

/**
 * Runs a function until its requirements are stable: as long as a response requires something else than the response
 * before. A fatal result ends the run at once.
 *
 * @param bootstrap requirements that the pipeline step states, satisfied before the first call
 * @throws {RequirementsError} when the requirements still change after {@link MAX_CALLS} calls
 * @throws {FunctionCallError}
 */
export async function runWithRequirements(
  caller: FunctionCaller,
  request: FunctionRequest,
  source: RequirementsSource,
  options: FunctionRunOptions,
  bootstrap: Requirements = NO_REQUIREMENTS,
): Promise<SatisfiedRun> {
  let required = NO_REQUIREMENTS;
  let context = request.context;
  let requestBytes = 0;
  let responseBytes = 0;
  const rounded = new Set<string>();
  for (let calls = 1; calls <= MAX_CALLS; calls++) {
    const found = await satisfy(merge(bootstrap, required), source);
    const run = await caller.run({ ...request, ...found, context }, options);
    const { response } = run;
    requestBytes += run.requestBytes;
    responseBytes += run.responseBytes;
    for (const field of run.rounded) rounded.add(field);
    if (isFatal(response) || isDeepStrictEqual(response.requirements, required))
      return { response, rounded: [...rounded], requestBytes, responseBytes, calls };
    required = response.requirements;
    context = response.context;
  }
  throw new RequirementsError(
    `the requirements did not stabilize within ${MAX_CALLS} calls: each response required something else`,
  );
}

function isFatal({ results }: FunctionResponse): boolean {
  return results.some(({ severity }) => severity === "Fatal");
}

function merge(bootstrap: Requirements, required: Requirements): Requirements {
  return {
    extraResources: required.extraResources,
    resources: new Map([...bootstrap.resources, ...required.resources]),
    schemas: new Map([...bootstrap.schemas, ...required.schemas]),
  };
}

async function satisfy(
  { extraResources, resources, schemas }: Requirements,
  source: RequirementsSource,
): Promise<Pick<FunctionRequest, "extraResources" | "requiredResources" | "requiredSchemas">> {
  const find = (selector: ResourceSelector): Promise<readonly ResourceState[]> => source.resources(selector);
  return {
    extraResources: await each(extraResources, find),
    requiredResources: await each(resources, find),
    requiredSchemas: await each(schemas, (selector) => source.schema(selector)),
  };
}

async function each<From, To>(
  map: ReadonlyMap<string, From>,
  find: (from: From) => Promise<To>,
): Promise<Map<string, To>> {
  const found = new Map<string, To>();
  // A map on the wire has no order, but equal requests must have equal bytes.
  for (const [name, from] of [...map].toSorted(([a], [b]) => (a < b ? -1 : 1))) found.set(name, await find(from));
  return found;
}
