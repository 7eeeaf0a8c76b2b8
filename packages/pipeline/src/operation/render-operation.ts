import type { JsonObject, KubernetesObject } from "@xfn/json";
import { textAt } from "@xfn/json";
import type { StepResult } from "../outcome/step-result.ts";
import { CONDITION_TIME, synced } from "../render/conditions.ts";
import type { RenderResult } from "../render/render-types.ts";
import { type OperationInput, type OperationResult, runOperation } from "./run-operation.ts";

/** The output of `xfn operation render`, as `printRender` prints it: the Operation in place of an XR. */
export type RenderedOperation = Pick<
  RenderResult,
  "composite" | "fullComposite" | "resources" | "results" | "events" | "context" | "fatal"
>;

/**
 * Runs an Operation once, and shows its status and the objects that it would apply. After a fatal result it would apply
 * none, and be tried again.
 *
 * @throws {PipelineError}
 */
export async function renderOperation(operation: KubernetesObject, input: OperationInput): Promise<RenderedOperation> {
  const run = await runOperation(input);
  const { apiVersion, kind, metadata, spec } = operation;
  const status = statusOf(run);
  const composite = { apiVersion, kind, metadata, status } as KubernetesObject;
  const { results, context, fatal } = run;
  return {
    composite,
    fullComposite: { ...composite, ...(spec !== undefined && { spec }) },
    resources: fatal === undefined ? objectsOf(run) : [],
    results: [...results],
    events: results.map(eventOf),
    ...(context && fatal === undefined && { context }),
    ...(fatal && { fatal }),
  };
}

function statusOf(run: OperationResult): JsonObject {
  const { fatal, outputs } = run;
  const valid = { type: "ValidPipeline", status: "True", reason: "ValidPipeline", lastTransitionTime: CONDITION_TIME };
  const pipeline = outputs.map(({ step, output }) => ({ step, output }));
  const common = pipeline.length === 0 ? {} : { pipeline };
  if (fatal !== undefined) {
    const failure = `pipeline step ${JSON.stringify(fatal.step)} returned a fatal result: ${fatal.message}`;
    return { ...common, failures: 1, conditions: [succeeded("Unknown", "PipelineRunning"), valid, synced(failure)] };
  }
  const appliedResourceRefs = objectsOf(run)
    .map(({ apiVersion = "", kind = "", metadata }): JsonObject => {
      const { namespace, name = "" } = metadata ?? {};
      return { apiVersion, kind, ...(namespace && { namespace }), name };
    })
    .toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
  const applied = appliedResourceRefs.length === 0 ? {} : { appliedResourceRefs };
  return { ...common, ...applied, conditions: [succeeded("True", "PipelineSuccess"), valid, synced()] };
}

function succeeded(status: string, reason: string): JsonObject {
  return { type: "Succeeded", status, reason, lastTransitionTime: CONDITION_TIME };
}

function objectsOf({ desired }: OperationResult): KubernetesObject[] {
  return [...desired].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}

function textOf(reference: JsonObject): string {
  return ["apiVersion", "kind", "namespace", "name"].map((field) => textAt(reference, field) ?? "").join("\0");
}

/** The events of the reconcile, which the output has in place of results. */
function eventOf({ severity, message, step }: StepResult): StepResult {
  if (severity === "Fatal") return { severity: "Warning", message, reason: "FunctionInvocation" };
  return { severity, message: `Pipeline step ${JSON.stringify(step)}: ${message}`, reason: "RunPipelineStep" };
}
