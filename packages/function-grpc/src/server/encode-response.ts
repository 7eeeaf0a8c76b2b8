import {
  type DesiredResource,
  type ExplicitConnectionDetail,
  type FunctionIO,
  type Result,
  severityOf,
} from "@xfn/functionio";
import type { Condition, PipelineResponse, ResourceSelector, Target } from "@xfn/functionio/sdk";
import { formatPath, type JsonObject } from "@xfn/json";
import { encodeStruct } from "../struct/encode-struct.ts";
import { Capability, Ready, Severity, Status, Target as WireTarget } from "../wire/enums.ts";
import { type Requirements, type ResourceSelector as WireSelector } from "../wire/requirements.ts";
import { RunFunctionResponse } from "../wire/response.ts";
import { type Resource } from "../wire/state.ts";
import { type DecodedRequest, textOf } from "./decode-request.ts";
import { type Derived, derive } from "./derive.ts";

/** The time to live that the official SDKs set. */
const TTL_SECONDS = 60n;

/**
 * Encodes a function's output. Values that the function did not change keep their bytes. Entries to delete are omitted:
 * over gRPC, resources that are not desired are deleted.
 *
 * @throws {StructError} for a value that JSON cannot represent
 */
export function encodeResponse(
  { wire, io }: DecodedRequest,
  output: FunctionIO,
  beside: PipelineResponse | undefined,
): Uint8Array {
  const encoder = new ResponseEncoder();
  const before = new Map((io.desired?.resources ?? []).map((entry) => [entry.name, entry]));
  const observed = new Map((io.observed.resources ?? []).map((entry) => [entry.name, entry]));
  const details = new Map<string, Uint8Array>();
  const resources = new Map<string, Resource>();
  for (const entry of output.desired?.resources ?? []) {
    const { name } = entry;
    const earlier = wire.desired?.resources.get(name);
    if (earlier !== undefined && before.get(name) === entry) resources.set(name, earlier);
    else if (entry.resource !== null) {
      const derived = derive(entry, observed.get(name));
      for (const warning of derived.warnings) encoder.warn(`composed resource ${JSON.stringify(name)}: ${warning}`);
      for (const [key, value] of derived.connectionDetails) details.set(key, Buffer.from(value));
      resources.set(name, encoder.entry(entry, entry.resource, earlier, derived));
    }
  }
  const composite = encoder.composite(
    wire.desired?.composite,
    io.desired?.composite,
    output.desired?.composite,
    details,
  );
  const context = output.context === io.context ? wire.context : encoder.struct(output.context ?? {}, "context");
  return RunFunctionResponse.encode({
    meta: { tag: wire.meta?.tag ?? "", ttl: { seconds: TTL_SECONDS, nanos: 0 } },
    desired: { ...(composite && { composite }), resources },
    ...(context && { context }),
    ...(beside?.output && { output: encoder.struct(beside.output, "output") }),
    results: [...(output.results ?? []).map(resultOf), ...encoder.warnings.map(warningOf)],
    conditions: (beside?.conditions ?? []).map(conditionOf),
    requirements: requirementsOf(beside, wire.meta?.capabilities),
  });
}

type Composite = NonNullable<FunctionIO["desired"]>["composite"];

class ResponseEncoder {
  readonly warnings: string[] = [];

  warn(message: string): void {
    this.warnings.push(message);
  }

  struct(object: unknown, path: string): Uint8Array {
    const { bytes, rounded } = encodeStruct(object as JsonObject);
    for (const inside of rounded)
      this.warn(`${path}.${formatPath(inside)} is an integer beyond 2^53, which a run over gRPC rounds`);
    return bytes;
  }

  entry({ name }: DesiredResource, resource: JsonObject, earlier: Resource | undefined, { ready }: Derived): Resource {
    return {
      resource: this.struct(resource, `desired.resources[${name}]`),
      connectionDetails: earlier?.connectionDetails ?? new Map<string, Uint8Array>(),
      ready: ready ?? earlier?.ready ?? Ready.READY_UNSPECIFIED,
    };
  }

  composite(
    earlier: Resource | undefined,
    given: Composite,
    returned: Composite,
    details: ReadonlyMap<string, Uint8Array>,
  ): Resource | undefined {
    const same = returned === given;
    if (same && details.size === 0) return earlier;
    const kept = same ? earlier?.connectionDetails : bytesOf(returned?.connectionDetails, earlier);
    const resource = same
      ? earlier?.resource
      : returned?.resource && this.struct(returned.resource, "desired.composite");
    return {
      ...(resource && { resource }),
      connectionDetails: new Map([...(kept ?? []), ...details]),
      ready: earlier?.ready ?? Ready.READY_UNSPECIFIED,
    };
  }
}

/** Values of earlier steps keep their bytes, which need not be text. */
function bytesOf(
  details: readonly ExplicitConnectionDetail[] | undefined,
  earlier: Resource | undefined,
): [string, Uint8Array][] {
  return (details ?? []).map(({ name, value }) => {
    const bytes = earlier?.connectionDetails.get(name);
    return [name, bytes !== undefined && textOf(bytes) === value ? bytes : Buffer.from(value)];
  });
}

const SEVERITIES = {
  Fatal: Severity.SEVERITY_FATAL,
  Warning: Severity.SEVERITY_WARNING,
  Normal: Severity.SEVERITY_NORMAL,
} as const;

const STATUSES = {
  True: Status.STATUS_CONDITION_TRUE,
  False: Status.STATUS_CONDITION_FALSE,
  Unknown: Status.STATUS_CONDITION_UNKNOWN,
} as const;

function resultOf(result: Result): RunFunctionResponse["results"][number] {
  const { message, reason, target } = result;
  return {
    severity: SEVERITIES[severityOf(result)],
    message,
    ...(typeof reason === "string" && { reason }),
    target: targetOf(target === "CompositeAndClaim" ? target : undefined),
  };
}

function warningOf(message: string): RunFunctionResponse["results"][number] {
  return { severity: Severity.SEVERITY_WARNING, message, target: targetOf(undefined) };
}

function conditionOf({ type, status, reason, message, target }: Condition): RunFunctionResponse["conditions"][number] {
  return { type, status: STATUSES[status], reason, ...(message && { message }), target: targetOf(target) };
}

function targetOf(target: Target | undefined): WireTarget {
  return target === "CompositeAndClaim" ? WireTarget.TARGET_COMPOSITE_AND_CLAIM : WireTarget.TARGET_COMPOSITE;
}

function requirementsOf(
  beside: PipelineResponse | undefined,
  capabilities: readonly Capability[] | undefined,
): Requirements | undefined {
  const { resources, schemas } = beside?.requirements ?? {};
  if (resources === undefined || schemas === undefined || resources.size + schemas.size === 0) return undefined;
  const selectors = new Map([...resources].map(([name, selector]) => [name, selectorOf(selector)]));
  // Crossplane 1.x reads only the older field. Later versions announce the newer one, and would read both.
  const isLater = capabilities?.includes(Capability.CAPABILITY_REQUIRED_RESOURCES) === true;
  const none = new Map<string, WireSelector>();
  return {
    extraResources: isLater ? none : selectors,
    resources: isLater ? selectors : none,
    schemas: new Map(schemas),
  };
}

function selectorOf({ apiVersion, kind, namespace, matchName, matchLabels }: ResourceSelector): WireSelector {
  return {
    apiVersion,
    kind,
    ...(matchName === undefined ? { matchLabels: { labels: new Map(Object.entries(matchLabels)) } } : { matchName }),
    ...(namespace !== undefined && { namespace }),
  };
}
