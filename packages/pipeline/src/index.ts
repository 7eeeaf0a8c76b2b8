// Running a Composition: functions in order, desired state accumulated; and what that looks like when rendered.

export type { FunctionRunner, RegistryAuth, RunOptions, RunPhase } from "@xfn/runner-contract";
export type { ComposedResource } from "./compose.ts";
export { connectionSecretOf, secretDetails } from "./connection-secrets.ts";
export {
  ANNOTATION_RESOURCE_NAME,
  composedName,
  LABEL_CLAIM_NAME,
  LABEL_CLAIM_NAMESPACE,
  LABEL_COMPOSITE,
} from "./names.ts";
export type { CompositeResource } from "./observed.ts";
export { type Judgement, type PipelineInput, type PipelineResult, runPipeline, type StepResult } from "./pipeline.ts";
export { PipelineError, type PipelineErrorCode } from "./pipeline-error.ts";
export { type PrintOptions, printRender } from "./print-render.ts";
export { type RenderInput, type RenderResult, render } from "./render.ts";
export type { StepRecord, TemplateWrite } from "./step-record.ts";
