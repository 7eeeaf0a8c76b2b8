// @xfn/function-grpc: calls function packages of Crossplane 1.14 and later.
export {
  type CallOptions,
  type FunctionRunOptions,
  MAX_RESPONSE_BYTES,
  type ResponseStore,
} from "./client/call-options.ts";
export { FunctionConnection } from "./client/connection.ts";
export { dial, type FunctionTarget, parseTarget, type TargetCertificates } from "./client/dial.ts";
export { type FunctionCaller, FunctionClient, type FunctionRun, type UnaryCaller } from "./client/function-client.ts";
export {
  MAX_CALLS,
  type RequirementsSource,
  runWithRequirements,
  type SatisfiedRun,
} from "./client/run-with-requirements.ts";
export {
  FunctionCallError,
  type FunctionCallErrorCode,
  type FunctionCallErrorOptions,
} from "./errors/function-call-error.ts";
export { RequirementsError } from "./errors/requirements-error.ts";
export { StructError, type StructErrorCode } from "./errors/struct-error.ts";
export {
  type FunctionCondition,
  type FunctionRequest,
  type FunctionResponse,
  type FunctionResult,
  NO_REQUIREMENTS,
  type Requirements,
  type ResourceSelector,
  type ResourceState,
  type SchemaSelector,
  type State,
  type Target,
} from "./message/function-message.ts";
export { decodeStruct, MAX_VALUES, type StructLimits } from "./struct/decode-struct.ts";
export { type EncodedStruct, encodeStruct } from "./struct/encode-struct.ts";
