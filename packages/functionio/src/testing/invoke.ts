import { accumulate } from "../function-io/accumulate.ts";
import {
  API_VERSION,
  type DesiredResource,
  type ExplicitConnectionDetail,
  type FunctionIO,
  KIND,
  type KubernetesObject,
  type Result,
  severityOf,
} from "../function-io/functionio.ts";
import { parseFunctionIO } from "../function-io/parse.ts";
import { printFunctionIO } from "../function-io/print.ts";
import type { JsonObject } from "../json/json-value.ts";
import type { ComposeFunction } from "../sdk/compose.ts";
import { copyJson } from "../sdk/json.ts";
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
  const returned = await fn(parseFunctionIO(printFunctionIO(given), { source: "input" }));
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
  return io;
}

function toDetails(details: { readonly [detail: string]: string }): ExplicitConnectionDetail[] {
  return Object.entries(details).map(([name, value]) => ({ name, value }));
}
