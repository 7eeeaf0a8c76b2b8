// Runs functions in unit tests, without a process or a container.
export { type Convergence, type ConvergeOptions, converge } from "./converge.ts";
export { type Invocation, type InvokeInput, invoke, type PipelineInput } from "./invoke.ts";
