import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";
import { ContainerizedFunctionRunnerServiceDefinition as Definition } from "../generated/apiextensions/fn/proto/v1alpha1/run_function.ts";

/** The name of the contract's service, for health checks. */
export const SERVICE_NAME: string = Definition.fullName;

/** The contract's only method. Messages stay bytes here, so that the decoder can report its own errors. */
export const RUN_FUNCTION: MethodDefinition<Uint8Array, Uint8Array> = {
  path: `/${Definition.fullName}/${Definition.methods.runFunction.name}`,
  requestStream: false,
  responseStream: false,
  requestSerialize: asBuffer,
  requestDeserialize: (bytes) => bytes,
  responseSerialize: asBuffer,
  responseDeserialize: (bytes) => bytes,
};

export const RUNNER_SERVICE: ServiceDefinition = { runFunction: RUN_FUNCTION };

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
