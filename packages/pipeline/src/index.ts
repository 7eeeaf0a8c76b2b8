// Runs a Composition: templates, then functions in order, which accumulate desired state. Renders the outcome.

export type { FunctionRunner, RegistryAuth, RunOptions, RunPhase } from "@xfn/runner-contract";
export { ResponseCache } from "./cache/response-cache.ts";
export type { ComposedResource } from "./compose/compose.ts";
export { composedName, isDerivedName } from "./compose/composed-name.ts";
export { connectionSecretOf, secretDetails } from "./observed/connection-secrets.ts";
export type { CompositeResource } from "./observed/observed-entries.ts";
export { PipelineError, type PipelineErrorCode } from "./outcome/pipeline-error.ts";
export type { StepCondition } from "./outcome/step-condition.ts";
export type { StepDescription, StepRecord, TemplateWrite } from "./outcome/step-record.ts";
export type { StepResult } from "./outcome/step-result.ts";
export { type PrintOptions, printRender } from "./render/print-render.ts";
export { render } from "./render/render.ts";
export type { RenderInput, RenderResult } from "./render/render-types.ts";
export type { KindSchemas } from "./settings/strict.ts";
export { type EnvironmentInput, environmentOf, type SelectedEnvironment } from "./steps/environment.ts";
export { findSchema } from "./steps/openapi-schema.ts";
export type {
  FunctionConnector,
  PipelineInput,
  SecretReference,
  WebhookCaller,
  WebhookOptions,
} from "./steps/pipeline-input.ts";
export { type Evaluation, type PipelineResult, runPipeline } from "./steps/run-pipeline.ts";
