// @xfn/runner-grpc: the runner contract (design section 3.2), both ends of it. Nothing here knows what the bytes mean.

export type { CertificateFiles } from "./certificate-files.ts";
export { checkHealth, type HealthState } from "./check-health.ts";
export type { RunnerClient, RunnerClientOptions } from "./client.ts";
export { createRunnerClient } from "./client.ts";
export type { Endpoint } from "./endpoint.ts";
export { DEFAULT_ENDPOINT, parseEndpoint } from "./endpoint.ts";
export {
  DEFAULT_MARGIN_MS,
  DEFAULT_TIMEOUT_MS,
  MAX_MESSAGE_BYTES,
  MAX_PAYLOAD_BYTES,
  MAX_TIMEOUT_MS,
} from "./limits.ts";
export { parseQuantity } from "./quantity.ts";
export type { RegistryAuth, RunOptions } from "./run-options.ts";
export type { RunnerGrpcErrorDetails, RunnerPhase, StatusName } from "./runner-grpc-error.ts";
export { RunnerGrpcError, statusOf } from "./runner-grpc-error.ts";
export type { RunnerSetupErrorCode } from "./setup-error.ts";
export { RunnerSetupError } from "./setup-error.ts";

// --- for programs that serve the contract ---

export { SERVICE_NAME } from "./contract.ts";
export type { AdmissionCounts } from "./server/admission.ts";
export type { RunnerServer, RunnerServerOptions } from "./server/create-server.ts";
export { createRunnerServer } from "./server/create-server.ts";
export type { Authentication } from "./server/listener-policy.ts";
export type { Caller, CallOutcome, ServedRunOptions } from "./server/run-call.ts";
