import { type FunctionIO, parseFunctionIO, printFunctionIO } from "@xfn/functionio";
import type { FunctionRunner } from "@xfn/pipeline";
import { type InProcessFunction, inProcessRunner } from "@xfn/pipeline/in-process";
import { NAMESPACE } from "./kinds.ts";
import { at, textAt } from "./objects.ts";

/** The functions of the scenarios' Compositions. */
export function functions(): FunctionRunner {
  return inProcessRunner({ "sweep/scale": made(scale), "sweep/report": made(report), "sweep/refuse": made(refuse) });
}

function made(change: (io: FunctionIO) => void): InProcessFunction {
  return (input) => {
    const io = parseFunctionIO(new TextDecoder().decode(input));
    change(io);
    return new TextEncoder().encode(printFunctionIO(io));
  };
}

/**
 * Desires `spec.count` ConfigMaps. Removes further ones by `resource: null` or, with `spec.quiet`, by leaving them
 * out.
 */
function scale(io: FunctionIO): void {
  const { composite, resources = [] } = io.observed;
  const count = Number(at(composite, "resource", "spec", "count") ?? 0);
  const quiet = at(composite, "resource", "spec", "quiet") === true;
  const desired = ((io.desired ??= {}).resources ??= []);
  for (let index = 0; index < count; index++) {
    desired.push({
      name: `map-${index}`,
      resource: {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { namespace: NAMESPACE },
        data: { size: textAt(composite, "resource", "spec", "size") ?? "small" },
      },
      readinessChecks: [{ type: "None" }],
    });
  }
  if (quiet) return;
  for (const { name } of resources) {
    const index = /^map-(\d+)$/.exec(name)?.[1];
    if (index !== undefined && Number(index) >= count) desired.push({ name, resource: null });
  }
}

/** Writes the number of observed resources to the XR's status, and labels the XR. */
function report(io: FunctionIO): void {
  const { composite, resources = [] } = io.observed;
  const object = composite?.resource;
  (io.desired ??= {}).composite = {
    resource: {
      apiVersion: object?.apiVersion ?? "",
      kind: object?.kind ?? "",
      metadata: { labels: { "sweep.example.org/reported": "yes" } },
      status: { seen: resources.length },
    },
    connectionDetails: [{ name: "username", value: "ada" }],
  };
}

/** Ends the run if `spec.refuse` is true. */
function refuse(io: FunctionIO): void {
  const refused = at(io.observed.composite, "resource", "spec", "refuse") === true;
  if (refused) (io.results ??= []).push({ severity: "Fatal", message: "refused, as the XR asks for" });
}
