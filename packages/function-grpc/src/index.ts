// @xfn/function-grpc: calls function packages of Crossplane 1.14 and later.
export { type CallOptions, MAX_RESPONSE_BYTES } from "./client/call-options.ts";
export { FunctionConnection } from "./client/connection.ts";
export {
  FunctionCallError,
  type FunctionCallErrorCode,
  type FunctionCallErrorOptions,
} from "./client/function-call-error.ts";
export { FunctionClient, type FunctionRun, type UnaryCaller } from "./client/function-client.ts";
export { RequirementsError } from "./client/requirements-error.ts";
export { MAX_CALLS, type RequirementsSource, runWithRequirements } from "./client/run-with-requirements.ts";
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
export { StructError, type StructErrorCode } from "./struct/struct-error.ts";
