// Running a Composition: functions in order, desired state accumulated; and what that looks like when rendered.

export type { FunctionRunner, RegistryAuth, RunOptions, RunPhase } from "@xfn/runner-contract";
export type { ComposedResource } from "./compose/compose.ts";
export {
  ANNOTATION_RESOURCE_NAME,
  composedName,
  LABEL_CLAIM_NAME,
  LABEL_CLAIM_NAMESPACE,
  LABEL_COMPOSITE,
} from "./compose/composed-name.ts";
export { connectionSecretOf, secretDetails } from "./observed/connection-secrets.ts";
export type { CompositeResource } from "./observed/observed-entries.ts";
export { PipelineError, type PipelineErrorCode } from "./outcome/pipeline-error.ts";
export type { StepRecord, TemplateWrite } from "./outcome/step-record.ts";
export { type PrintOptions, printRender } from "./render/print-render.ts";
export { type RenderInput, type RenderResult, render } from "./render/render.ts";
export {
  type Judgement,
  type PipelineInput,
  type PipelineResult,
  runPipeline,
  type StepResult,
} from "./steps/run-pipeline.ts";
