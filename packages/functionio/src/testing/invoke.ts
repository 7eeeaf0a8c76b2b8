import type { JsonObject, KubernetesObject } from "@xfn/json";
import { accumulate } from "../function-io/accumulate.ts";
import {
  API_VERSION,
  type DesiredResource,
  type ExplicitConnectionDetail,
  type FunctionIO,
  KIND,
  type Result,
  severityOf,
} from "../function-io/functionio.ts";
import { parseFunctionIO } from "../function-io/parse.ts";
import { printFunctionIO } from "../function-io/print.ts";
import type { ComposeFunction } from "../sdk/compose.ts";
import { copyJson } from "../sdk/json.ts";
import type {
  Condition,
  PipelineResponse,
  PipelineRun,
  ResourceSelector,
  SchemaSelector,
} from "../sdk/pipeline-run.ts";
import type { Input, PartialInput } from "../sdk/readonly.ts";

/** The input of a function under test. Undefined fields are omitted. */
export interface InvokeInput<Composite extends object = KubernetesObject, Config = unknown> {
  /** The observed XR. */
  readonly xr?: PartialInput<Composite>;
  readonly config?: Input<Config>;
  /** The observed composed resources, by entry name. */
  readonly observed?: { readonly [name: string]: object };
  /** Connection details of observed composed resources, by entry name and detail name. */
  readonly connectionDetails?: { readonly [name: string]: { readonly [detail: string]: string } };
  /** The desired resources of earlier steps, by entry name; null for a resource to delete. */
  readonly desired?: { readonly [name: string]: object | null };
  /** The desired XR of earlier steps. */
  readonly desiredComposite?: object;
  /** The results of earlier steps. */
  readonly results?: readonly Result[];
  /** Runs the function as over gRPC. Without it, the function is run by a FunctionIO, which carries nothing of this. */
  readonly pipeline?: PipelineInput;
}

/** Inputs of a run over gRPC that a FunctionIO does not have. */
export interface PipelineInput {
  /** The context that earlier steps left, by key. */
  readonly context?: { readonly [key: string]: unknown };
  /** Data of credentials, by the names of the step. */
  readonly credentials?: { readonly [name: string]: { readonly [key: string]: string | Uint8Array } };
  /** The required resources that were read, by name. Leave out a name to test the run before. */
  readonly resources?: { readonly [name: string]: readonly object[] };
  /** The required schemas that were read, by name; null for a kind without one. */
  readonly schemas?: { readonly [name: string]: object | null };
}

/** The output of a function, checked as in a pipeline. Plain objects, for `toEqual` and `deepEqual`. */
export interface Invocation {
  /** The desired resources, by entry name; null for a resource to delete. */
  desired: { [name: string]: KubernetesObject | null };
  /** The desired entries with their readiness checks and connection details, by name. */
  entries: { [name: string]: DesiredResource };
  /** The desired XR, if there is one. */
  composite: KubernetesObject | undefined;
  /** The desired connection details of the XR. */
  connectionDetails: { [name: string]: string };
  /** All results, including those of earlier steps. */
  results: Result[];
  /** The message of the first fatal result. */
  fatal: string | undefined;
  /** The warnings of a pipeline, such as dropped entries of earlier steps. */
  warnings: string[];
  /** The context that the function leaves; undefined without `pipeline`. */
  context: JsonObject | undefined;
  /** The conditions that the function sets on the XR. */
  conditions: Condition[];
  /** The required resources and schemas, by name. */
  requirements: {
    resources: { [name: string]: ResourceSelector };
    schemas: { [name: string]: SchemaSelector };
  };
  /** The output for the status of an Operation; undefined without `operate`. */
  operationOutput: JsonObject | undefined;
  /** The whole FunctionIO. */
  output: FunctionIO;
}

/**
 * Runs a function as a pipeline would, without a process or a container: through the same text, parsed and checked.
 *
 * @throws {FunctionIOError} when the input or the output is not a valid FunctionIO
 */
export async function invoke<Composite extends object, Config>(
  fn: ComposeFunction<Composite, Config>,
  input: InvokeInput<Composite, Config> = {},
): Promise<Invocation> {
  const given = parseFunctionIO(printFunctionIO(toFunctionIO(input)), { source: "input" });
  let beside: PipelineResponse | undefined;
  const run = input.pipeline && pipelineRun(input.pipeline, (response) => void (beside = response));
  const returned = await fn(parseFunctionIO(printFunctionIO(given), { source: "input" }), run);
  const output = parseFunctionIO(printFunctionIO(returned), { source: "output" });
  const { fatal, warnings } = accumulate(given, output, "function");
  const plain = structuredClone(output);
  const entries = Object.fromEntries((plain.desired?.resources ?? []).map((entry) => [entry.name, entry]));
  return {
    desired: Object.fromEntries(Object.entries(entries).map(([name, { resource }]) => [name, resource])),
    entries,
    composite: plain.desired?.composite?.resource,
    connectionDetails: Object.fromEntries(
      (plain.desired?.composite?.connectionDetails ?? []).map(({ name, value }) => [name, value]),
    ),
    results: plain.results ?? [],
    fatal: (fatal ?? plain.results?.find((result) => severityOf(result) === "Fatal"))?.message,
    warnings: warnings.map((warning) => warning.message),
    context: plain["context"],
    conditions: [...(beside?.conditions ?? [])],
    requirements: {
      resources: Object.fromEntries(beside?.requirements.resources ?? []),
      schemas: Object.fromEntries(beside?.requirements.schemas ?? []),
    },
    operationOutput: beside?.output,
    output: plain,
  };
}

/** The FunctionIO of a test's input. */
function toFunctionIO<Composite extends object, Config>(input: InvokeInput<Composite, Config>): FunctionIO {
  const io: FunctionIO = { apiVersion: API_VERSION, kind: KIND, observed: {} };
  if (input.config !== undefined) io.config = copyJson(input.config, "config") as JsonObject;
  if (input.xr !== undefined) io.observed.composite = { resource: copyJson(input.xr, "xr") as KubernetesObject };
  const observed = Object.entries(input.observed ?? {}).map(([name, resource]) => {
    const details = input.connectionDetails?.[name];
    const entry = { name, resource: copyJson(resource, `observed.${name}`) as KubernetesObject };
    return details === undefined ? entry : { ...entry, connectionDetails: toDetails(details) };
  });
  if (observed.length > 0) io.observed.resources = observed;
  const desired = Object.entries(input.desired ?? {}).map(([name, resource]) => ({
    name,
    resource: copyJson(resource, `desired.${name}`) as KubernetesObject | null,
  }));
  if (desired.length > 0) io.desired = { resources: desired };
  if (input.desiredComposite !== undefined) {
    const resource = copyJson(input.desiredComposite, "desiredComposite") as KubernetesObject;
    io.desired = { ...io.desired, composite: { resource } };
  }
  if (input.results !== undefined) io.results = [...input.results];
  if (input.pipeline !== undefined) io.context = copyJson(input.pipeline.context ?? {}, "context") as JsonObject;
  return io;
}

function pipelineRun(input: PipelineInput, respond: PipelineRun["respond"]): PipelineRun {
  const { credentials = {}, resources = {}, schemas = {} } = input;
  const bytes = (value: string | Uint8Array): Uint8Array =>
    typeof value === "string" ? new TextEncoder().encode(value) : value;
  const mapOf = <T, U>(
    record: { readonly [name: string]: T },
    convert: (value: T, name: string) => U,
  ): Map<string, U> => new Map(Object.entries(record).map(([name, value]) => [name, convert(value, name)]));
  return {
    credentials: mapOf(credentials, (data) => mapOf(data, bytes)),
    resources: mapOf(resources, (found, name) => copyJson(found, name) as unknown as KubernetesObject[]),
    schemas: mapOf(schemas, (schema, name) => copyJson(schema, name) as JsonObject | null),
    respond,
  };
}

function toDetails(details: { readonly [detail: string]: string }): ExplicitConnectionDetail[] {
  return Object.entries(details).map(([name, value]) => ({ name, value }));
}
