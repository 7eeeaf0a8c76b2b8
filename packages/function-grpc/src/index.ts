// @xfn/function-grpc: calls function packages of Crossplane 1.14 and later.
export { type CallOptions, MAX_RESPONSE_BYTES } from "./client/call-options.ts";
export { FunctionConnection } from "./client/connection.ts";
export { FunctionClient, type FunctionRun, type UnaryCaller } from "./client/function-client.ts";
export { MAX_CALLS, type RequirementsSource, runWithRequirements } from "./client/run-with-requirements.ts";
export {
  FunctionCallError,
  type FunctionCallErrorCode,
  type FunctionCallErrorOptions,
} from "./errors/function-call-error.ts";
export { RequirementsError } from "./errors/requirements-error.ts";
export { StructError, type StructErrorCode } from "./errors/struct-error.ts";
export type {
  FunctionCondition,
  FunctionRequest,
  FunctionResponse,
  FunctionResult,
  Requirements,
  ResourceSelector,
  ResourceState,
  SchemaSelector,
  State,
  Target,
} from "./message/function-message.ts";
export { decodeStruct, MAX_VALUES, type StructLimits } from "./struct/decode-struct.ts";
export { type EncodedStruct, encodeStruct } from "./struct/encode-struct.ts";
