import type { JsonObject } from "@xfn/functionio";
import { FunctionCallError } from "../errors/function-call-error.ts";
import { StructError } from "../errors/struct-error.ts";
import {
  Ready,
  RunFunctionResponse,
  Severity,
  Status,
  type Requirements as WireRequirements,
  type ResourceSelector as WireSelector,
  type State as WireState,
  Target as WireTarget,
} from "../generated/apiextensions/fn/proto/v1/run_function.ts";
import { decodeStruct } from "../struct/decode-struct.ts";
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

/**
 * Decodes a response.
 *
 * @throws {FunctionCallError} `Malformed`
 */
export function decodeResponse(bytes: Uint8Array): FunctionResponse {
  let path = "the response";
  const at = <T>(where: string, read: () => T): T => {
    path = where;
    return read();
  };
  try {
    const response = RunFunctionResponse.decode(bytes);
    const { context, meta } = response;
    const ttlMs = meta?.ttl && Number(meta.ttl.seconds) * 1000 + meta.ttl.nanos / 1e6;
    return {
      desired: stateOf(response.desired, at),
      results: response.results.map(resultOf),
      conditions: response.conditions.map(conditionOf),
      ...(context && { context: at("context", () => decodeStruct(context)) }),
      requirements: requirementsOf(response.requirements),
      ...(ttlMs !== undefined && ttlMs > 0 && { ttlMs }),
    };
  } catch (error) {
    const why = error instanceof StructError ? error.message : "it is not a RunFunctionResponse";
    throw new FunctionCallError("Malformed", `cannot read ${path}: ${why}`, { cause: error });
  }
}

type At = <T>(where: string, read: () => T) => T;

function stateOf(state: WireState | undefined, at: At): State {
  const resources = new Map<string, ResourceState>();
  for (const [name, resource] of state?.resources ?? [])
    resources.set(
      name,
      at(`desired.resources[${name}]`, () => resourceOf(resource)),
    );
  const { composite } = state ?? {};
  return { ...(composite && { composite: at("desired.composite", () => resourceOf(composite)) }), resources };
}

function resourceOf({ resource, connectionDetails, ready }: NonNullable<WireState["composite"]>): ResourceState {
  const object: JsonObject = resource === undefined ? {} : decodeStruct(resource);
  return {
    resource: object,
    ...(connectionDetails.size > 0 && { connectionDetails }),
    ...(ready === Ready.READY_TRUE && { ready: true }),
    ...(ready === Ready.READY_FALSE && { ready: false }),
  };
}

function resultOf({ severity, message, reason, target }: RunFunctionResponse["results"][number]): FunctionResult {
  return {
    // Crossplane takes a severity that it does not know for a warning.
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
  const resources = new Map<string, ResourceSelector>();
  // Functions built for Crossplane 1.x use the older field.
  for (const field of [requirements?.extraResources, requirements?.resources])
    for (const [name, selector] of field ?? []) resources.set(name, selectorOf(selector));
  return { resources, schemas: requirements?.schemas ?? new Map<string, SchemaSelector>() };
}

function selectorOf({ apiVersion, kind, matchName, matchLabels, namespace }: WireSelector): ResourceSelector {
  return {
    apiVersion,
    kind,
    match: matchName === undefined ? { labels: matchLabels?.labels ?? new Map() } : { name: matchName },
    ...(namespace !== undefined && { namespace }),
  };
}
