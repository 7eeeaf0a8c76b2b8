import { setImmediate } from "node:timers/promises";
import type { JsonObject } from "@xfn/json";
import { FunctionCallError } from "../errors/function-call-error.ts";
import { StructError } from "../errors/struct-error.ts";
import { BYTES_PER_TURN, decodeStruct, decodeStructInTurns } from "../struct/decode-struct.ts";
import { Ready, Severity, Status, Target as WireTarget } from "../wire/enums.ts";
import { type Requirements as WireRequirements, type ResourceSelector as WireSelector } from "../wire/requirements.ts";
import { RunFunctionResponse } from "../wire/response.ts";
import { type State as WireState } from "../wire/state.ts";
import type {
  FunctionCondition,
  FunctionResponse,
  FunctionResult,
  Requirements,
  ResourceSelector,
  ResourceState,
  SchemaSelector,
  State,
  Target,
} from "./function-message.ts";
import { checkResponseSize, type ResponseLimits } from "./response-size.ts";

/** The paths of the objects that are not part of the desired state. */
const CONTEXT = "context";
const OUTPUT = "output";

/**
 * Decodes a response. Yields to other work between the objects of a large response, and within large objects.
 *
 * @throws {FunctionCallError} `Malformed`, `TooLarge`
 */
export async function decodeResponse(bytes: Uint8Array, limits: ResponseLimits): Promise<FunctionResponse> {
  let path = "the response";
  let decoded = 0;
  const objectLimits = { maxValues: Math.min(limits.maxValues, limits.maxObjectValues ?? Infinity) };
  const decode: Decode = async (where, object) => {
    if (decoded > BYTES_PER_TURN) {
      await setImmediate();
      decoded = 0;
    }
    decoded += object.length;
    path = where;
    const bounds = where === CONTEXT ? limits : objectLimits;
    return object.length <= BYTES_PER_TURN
      ? decodeStruct(object, bounds)
      : await decodeStructInTurns(object, bounds, { pause: setImmediate });
  };
  try {
    checkResponseSize(bytes, limits);
    const response = RunFunctionResponse.decode(bytes);
    const { context, meta, output } = response;
    const ttlMs = meta?.ttl && Number(meta.ttl.seconds) * 1000 + meta.ttl.nanos / 1e6;
    return {
      desired: await stateOf(response.desired, decode),
      results: response.results.map(resultOf),
      conditions: response.conditions.map(conditionOf),
      ...(context && { context: await decode(CONTEXT, context) }),
      ...(output && { output: await decode(OUTPUT, output) }),
      requirements: requirementsOf(response.requirements),
      ...(ttlMs !== undefined && ttlMs > 0 && { ttlMs }),
    };
  } catch (error) {
    const why = error instanceof StructError ? error.message : "it is not a RunFunctionResponse";
    const code = error instanceof StructError && error.code === "TooManyValues" ? "TooLarge" : "Malformed";
    throw new FunctionCallError(code, `cannot read ${path}: ${why}`, { cause: error });
  }
}

type Decode = (path: string, object: Uint8Array) => Promise<JsonObject>;

async function stateOf(state: WireState | undefined, decode: Decode): Promise<State> {
  const resources = new Map<string, ResourceState>();
  for (const [name, resource] of state?.resources ?? [])
    resources.set(name, await resourceOf(resource, `desired.resources[${name}]`, decode));
  const { composite } = state ?? {};
  return { ...(composite && { composite: await resourceOf(composite, "desired.composite", decode) }), resources };
}

async function resourceOf(
  { resource, connectionDetails, ready }: NonNullable<WireState["composite"]>,
  path: string,
  decode: Decode,
): Promise<ResourceState> {
  return {
    resource: resource === undefined ? {} : await decode(path, resource),
    ...(connectionDetails.size > 0 && { connectionDetails }),
    ...(ready === Ready.READY_TRUE && { ready: true }),
    ...(ready === Ready.READY_FALSE && { ready: false }),
  };
}

function resultOf({ severity, message, reason, target }: RunFunctionResponse["results"][number]): FunctionResult {
  return {
    // Crossplane treats an unknown severity as a warning.
    severity:
      severity === Severity.SEVERITY_FATAL ? "Fatal" : severity === Severity.SEVERITY_NORMAL ? "Normal" : "Warning",
    message,
    ...(reason !== undefined && { reason }),
    target: targetOf(target),
  };
}

function conditionOf(condition: RunFunctionResponse["conditions"][number]): FunctionCondition {
  const { type, status, reason, message, target } = condition;
  return {
    type,
    status:
      status === Status.STATUS_CONDITION_TRUE ? "True" : status === Status.STATUS_CONDITION_FALSE ? "False" : "Unknown",
    reason,
    ...(message !== undefined && { message }),
    target: targetOf(target),
  };
}

function targetOf(target: WireTarget | undefined): Target {
  return target === WireTarget.TARGET_COMPOSITE_AND_CLAIM ? "CompositeAndClaim" : "Composite";
}

function requirementsOf(requirements: WireRequirements | undefined): Requirements {
  const selectors = (field: ReadonlyMap<string, WireSelector> | undefined): Map<string, ResourceSelector> =>
    new Map([...(field ?? [])].map(([name, selector]) => [name, selectorOf(selector)]));
  return {
    extraResources: selectors(requirements?.extraResources),
    resources: selectors(requirements?.resources),
    schemas: requirements?.schemas ?? new Map<string, SchemaSelector>(),
  };
}

function selectorOf({ apiVersion, kind, matchName, matchLabels, namespace }: WireSelector): ResourceSelector {
  return {
    apiVersion,
    kind,
    match: matchName === undefined ? { labels: matchLabels?.labels ?? new Map() } : { name: matchName },
    ...(namespace !== undefined && { namespace }),
  };
}
