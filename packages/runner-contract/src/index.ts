// @xfn/runner-contract: the inputs, outputs and errors of a runner.

export type { RunnerErrorCode, RunnerPhase, ServiceErrorCode } from "./error-codes.ts";
export { isRetryable, isRunnerPhase, isUndelivered } from "./error-codes.ts";
export type { FunctionHost, ServedFunction, ServeOptions } from "./function-host.ts";
export type {
  FunctionRunner,
  FunctionType,
  RegistryAuth,
  ResourceLimits,
  RunOptions,
  RunPhase,
} from "./function-runner.ts";
export {
  DEFAULT_OUTPUT_BYTES,
  DEFAULT_TIMEOUT_MS,
  FUNCTION_TYPES,
  MAX_PAYLOAD_BYTES,
  MAX_TIMEOUT_MS,
} from "./function-runner.ts";
export type { RunnerErrorDetails } from "./runner-error.ts";
export { RunnerError } from "./runner-error.ts";
