// @xfn/runner-grpc: the runner contract over gRPC, client and server. It does not interpret the bytes of a call.

export type { RegistryAuth, RunnerPhase, RunOptions } from "@xfn/runner-contract";
export { DEFAULT_OUTPUT_BYTES, DEFAULT_TIMEOUT_MS, MAX_PAYLOAD_BYTES } from "@xfn/runner-contract";
export type { RunnerClientOptions } from "./client/channel.ts";
export { checkHealth, type HealthState } from "./client/check-health.ts";
export type { FunctionCallOptions, RunnerClient } from "./client/client.ts";
export { createRunnerClient } from "./client/client.ts";
export type { CertificateFiles } from "./setup/certificate-files.ts";
export type { Endpoint } from "./setup/endpoint.ts";
export { DEFAULT_ENDPOINT, parseEndpoint } from "./setup/endpoint.ts";
export type { RunnerSetupErrorCode } from "./setup/setup-error.ts";
export { RunnerSetupError } from "./setup/setup-error.ts";
export {
  DEFAULT_MARGIN_MS,
  MAX_MESSAGE_BYTES,
  MAX_TIMEOUT_MS,
} from "./wire/limits.ts";
export type { RunnerGrpcErrorDetails, StatusName } from "./wire/runner-grpc-error.ts";
export { RunnerGrpcError, statusOf } from "./wire/runner-grpc-error.ts";

// --- for programs that serve the contract ---

export type { AdmissionCounts } from "./server/admission.ts";
export type { RunnerServer } from "./server/create-server.ts";
export { createRunnerServer } from "./server/create-server.ts";
export type { Authentication } from "./server/listener-policy.ts";
export type { LocalRunner, LocalRunnerOptions } from "./server/local-runner.ts";
export { createLocalRunner } from "./server/local-runner.ts";
export type { RunnerServerOptions } from "./server/options.ts";
export { listenOnPath, type SocketFile } from "./server/path-socket.ts";
export type { Caller, CallOutcome, ForwardCall, ServedRunOptions } from "./server/perform-call.ts";
export { PACKAGE_KEY } from "./wire/function-service.ts";
export { SERVICE_NAME } from "./wire/service-definition.ts";
export { errorOfStatus } from "./wire/status-codes.ts";
