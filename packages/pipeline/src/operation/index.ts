// Runs Operations, which function packages compose without a composite resource.

export { type RenderedOperation, renderOperation } from "./render-operation.ts";
export { type OperationInput, type OperationResult, runOperation, type StepOutput } from "./run-operation.ts";
