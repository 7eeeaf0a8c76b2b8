import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@xfn/functionio";
import { RequirementsError } from "../errors/requirements-error.ts";
import type {
  FunctionRequest,
  FunctionResponse,
  Requirements,
  ResourceSelector,
  ResourceState,
  SchemaSelector,
} from "../message/function-message.ts";
import type { CallOptions } from "./call-options.ts";
import type { FunctionClient, FunctionRun } from "./function-client.ts";

/** Finds what a function requires. */
export interface RequirementsSource {
  /** The resources that match, in a stable order; none if they do not exist. */
  resources(selector: ResourceSelector): Promise<readonly ResourceState[]>;
  /** The OpenAPI v3 schema of a kind; undefined if the kind has none. */
  schema(selector: SchemaSelector): Promise<JsonObject | undefined>;
}

/** As many calls of one step as Crossplane makes, the first one included. */
export const MAX_CALLS = 6;

/**
 * Runs a function until it has seen what it requires: as long as a response requires something else than the one
 * before. A fatal result ends it at once.
 *
 * @param bootstrap requirements that the pipeline step states, satisfied before the first call
 * @throws {RequirementsError} when the requirements still change after {@link MAX_CALLS} calls
 * @throws {FunctionCallError}
 */
export async function runWithRequirements(
  client: FunctionClient,
  request: FunctionRequest,
  source: RequirementsSource,
  options: CallOptions,
  bootstrap: Requirements = NONE,
): Promise<FunctionRun> {
  let required = NONE;
  let context = request.context;
  for (let call = 1; call <= MAX_CALLS; call++) {
    const found = await satisfy(merge(bootstrap, required), source);
    const run = await client.run({ ...request, ...found, context }, options);
    const { response } = run;
    if (isFatal(response) || isDeepStrictEqual(response.requirements, required)) return run;
    required = response.requirements;
    context = response.context;
  }
  throw new RequirementsError(
    `the requirements did not stabilize within ${MAX_CALLS} calls: each response required something else`,
  );
}

const NONE: Requirements = { resources: new Map(), schemas: new Map() };

function isFatal({ results }: FunctionResponse): boolean {
  return results.some(({ severity }) => severity === "Fatal");
}

function merge(bootstrap: Requirements, required: Requirements): Requirements {
  return {
    resources: new Map([...bootstrap.resources, ...required.resources]),
    schemas: new Map([...bootstrap.schemas, ...required.schemas]),
  };
}

async function satisfy(
  { resources, schemas }: Requirements,
  source: RequirementsSource,
): Promise<Pick<FunctionRequest, "requiredResources" | "requiredSchemas">> {
  const requiredResources = new Map<string, readonly ResourceState[]>();
  const requiredSchemas = new Map<string, JsonObject | undefined>();
  for (const [name, selector] of resources) requiredResources.set(name, await source.resources(selector));
  for (const [name, selector] of schemas) requiredSchemas.set(name, await source.schema(selector));
  return { requiredResources, requiredSchemas };
}
