import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";

/** The name of the contract's service, for health checks. */
export const SERVICE_NAME = "apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService";

/** The contract's only method. Messages stay bytes here, so that the decoder can report its own errors. */
export const RUN_FUNCTION: MethodDefinition<Uint8Array, Uint8Array> = {
  path: `/${SERVICE_NAME}/RunFunction`,
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
