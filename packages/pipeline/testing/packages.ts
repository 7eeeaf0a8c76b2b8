// Pipelines of handlers, which replace function packages, and of FunctionIO functions.
import type { FunctionRequest, FunctionResponse } from "@xfn/function-grpc";
import type { JsonObject, JsonValue } from "@xfn/json";
import { type InProcessFunction, inProcessRunner } from "../src/in-process.ts";
import type { PipelineInput } from "../src/steps/pipeline-input.ts";
import { type PipelineResult, runPipeline } from "../src/steps/run-pipeline.ts";
import { compositionOf, packagesOf, xr } from "./fixtures.ts";

export type Handler = (request: FunctionRequest) => Partial<FunctionResponse>;
/** A step of {@link run}: a handler with further fields of the step, or a function. */
export type TestStep = { step: string } & ({ handler: Handler; fields?: JsonObject } | { io: InProcessFunction });

/** Runs a pipeline. */
export async function run(
  steps: readonly TestStep[],
  input: Partial<PipelineInput> & { rounded?: readonly string[] } = {},
): Promise<PipelineResult> {
  const { rounded = [], ...rest } = input;
  const handlers = new Map(steps.flatMap((one) => ("handler" in one ? [[one.step, one.handler]] : [])));
  const images = steps.flatMap((one) => ("io" in one ? [[`image-${one.step}`, one.io]] : []));
  return await runPipeline({
    composite: xr({ uid: "0749c14a-4f6a-5a82-a298-88e58db51cf6" }),
    composition: pipelineOf(steps),
    runner: inProcessRunner(Object.fromEntries(images)),
    functions: packagesOf((step) => handlers.get(step), rounded),
    ...rest,
  });
}

export function pipelineOf(
  steps: readonly TestStep[],
  fields: Record<string, JsonValue> = {},
): PipelineInput["composition"] {
  const pipeline = steps.map(
    (one): JsonObject =>
      "handler" in one
        ? { step: one.step, functionRef: { name: `function-${one.step}` }, ...one.fields }
        : { step: one.step, container: { image: `image-${one.step}` } },
  );
  return compositionOf([], { mode: "Pipeline", pipeline, ...fields });
}
