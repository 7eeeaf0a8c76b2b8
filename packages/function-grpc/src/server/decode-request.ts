import { API_VERSION, type FunctionIO, KIND, type ObservedResource } from "@xfn/functionio";
import type { PipelineRun } from "@xfn/functionio/sdk";
import type { KubernetesObject } from "@xfn/json";
import { ServeError } from "../errors/serve-error.ts";
import { StructError } from "../errors/struct-error.ts";
import { decodeStruct } from "../struct/decode-struct.ts";
import { RunFunctionRequest } from "../wire/request.ts";
import { type Resource, type Resources, type State } from "../wire/state.ts";

/** A request in the form that the SDK takes. */
export interface DecodedRequest {
  readonly io: FunctionIO;
  /** The fields that a FunctionIO cannot carry. */
  readonly beside: Omit<PipelineRun, "respond">;
  /** The original message, for values that the function does not change. */
  readonly wire: RunFunctionRequest;
}

/**
 * Decodes a request. Entries are sorted by name, because a map on the wire has no order.
 *
 * @throws {ServeError} `InvalidArgument`
 */
export function decodeRequest(bytes: Uint8Array): DecodedRequest {
  try {
    const wire = RunFunctionRequest.decode(bytes);
    return { io: functionIO(wire), beside: besideIt(wire), wire };
  } catch (error) {
    const why = error instanceof StructError ? error.message : "it is not a RunFunctionRequest";
    throw new ServeError("InvalidArgument", `cannot read the request: ${why}`, { cause: error });
  }
}

function functionIO({ observed, desired, input, context }: RunFunctionRequest): FunctionIO {
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    ...(input && { config: decodeStruct(input) }),
    context: context === undefined ? {} : decodeStruct(context),
    observed: {
      ...compositeOf(observed),
      ...entriesOf(observed, (name, entry) => ({ name, ...resourceOf(entry), ...detailsOf(entry) })),
    },
    // Connection details of desired entries are values here, but rules in a FunctionIO: they stay in the wire message.
    desired: { ...compositeOf(desired), ...entriesOf(desired, (name, entry) => ({ name, ...resourceOf(entry) })) },
  };
}

function compositeOf(state: State | undefined): { composite?: { resource?: KubernetesObject } } {
  const { composite } = state ?? {};
  return composite === undefined ? {} : { composite: { ...resourceOf(composite), ...detailsOf(composite) } };
}

function entriesOf(
  state: State | undefined,
  convert: (name: string, entry: Resource) => ObservedResource,
): { resources?: ObservedResource[] } {
  const entries = sorted(state?.resources);
  return entries.length === 0 ? {} : { resources: entries.map(([name, entry]) => convert(name, entry)) };
}

function resourceOf({ resource }: Resource): { resource: KubernetesObject } {
  return { resource: resource === undefined ? {} : decodeStruct(resource) };
}

function detailsOf({ connectionDetails }: Resource): { connectionDetails?: { name: string; value: string }[] } {
  if (connectionDetails.size === 0) return {};
  return { connectionDetails: sorted(connectionDetails).map(([name, value]) => ({ name, value: textOf(value) })) };
}

/** A connection detail in the form of a FunctionIO. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}

function besideIt(wire: RunFunctionRequest): Omit<PipelineRun, "respond"> {
  const resources = new Map<string, KubernetesObject[]>();
  // Crossplane 1.x uses only the older field.
  for (const field of [wire.extraResources, wire.requiredResources])
    for (const [name, found] of field) resources.set(name, itemsOf(found));
  return {
    credentials: new Map(
      [...wire.credentials].map(([name, { credentialData }]) => [name, credentialData?.data ?? NONE]),
    ),
    resources,
    schemas: new Map(
      [...wire.requiredSchemas].map(([name, { openapiV3 }]) => [name, openapiV3 ? decodeStruct(openapiV3) : null]),
    ),
  };
}

const NONE: ReadonlyMap<string, Uint8Array> = new Map();

function itemsOf({ items }: Resources): KubernetesObject[] {
  return items.map((item) => resourceOf(item).resource);
}

function sorted<T>(map: ReadonlyMap<string, T> | undefined): [string, T][] {
  return [...(map ?? [])].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
