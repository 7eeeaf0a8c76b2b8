import type { FieldReader } from "../reader/field-reader.ts";
import type { PipelineStep } from "./composition.ts";

/** The `mode` of a Composition's spec and, for `mode: Pipeline`, its steps. */
export function readPipeline(spec: FieldReader): { mode?: "Resources" | "Pipeline"; pipeline?: PipelineStep[] } {
  const mode = spec.oneOf("mode", ["Resources", "Pipeline"]);
  const steps = spec.objects("pipeline");
  const pipeline = readSteps(steps);
  if (mode === "Pipeline") {
    if (steps.length === 0) {
      spec.required("pipeline", undefined, "the steps that mode: Pipeline runs");
      if (Array.isArray(spec.value("pipeline"))) spec.error("Required", "pipeline", "is empty; give at least one step");
    }
    for (const field of ["resources", "to", "patchSets", "functions"]) {
      if (isFilled(spec.value(field))) spec.warning("Ignored", field, "has no effect with mode: Pipeline");
    }
  } else if (steps.length > 0) {
    spec.warning("Ignored", "pipeline", "has no effect without mode: Pipeline");
  }
  return { ...(mode !== undefined && { mode }), ...(pipeline.length > 0 && { pipeline }) };
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function readSteps(readers: readonly FieldReader[]): PipelineStep[] {
  const names = new Set<string>();
  const steps: PipelineStep[] = [];
  for (const reader of readers) {
    const step = reader.text("step", "a name for this step");
    if (step !== undefined && names.has(step)) {
      reader.error(
        "Duplicate",
        "step",
        `${JSON.stringify(step.slice(0, 64))} is also the name of an earlier step; names are unique`,
      );
    }
    if (step !== undefined) names.add(step);
    const functionRef = reader.object("functionRef");
    reader.required("functionRef", functionRef, "the Function to run, as functionRef.name");
    const name = functionRef?.text("name", "the name of a Function");
    functionRef?.warnUnknown();
    const input = reader.object("input");
    for (const field of ["apiVersion", "kind"]) {
      if (input !== undefined && input.string(field) === undefined && input.value(field) === undefined) {
        input.warning("Required", field, "is missing; a Kubernetes API server refuses an input without it");
      }
    }
    reader.warnUnknown(["credentials"]);
    if (step === undefined || name === undefined) continue;
    steps.push({ step, functionRef: { name }, ...(input !== undefined && { input: input.json }) });
  }
  return steps;
}
