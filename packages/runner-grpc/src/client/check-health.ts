import { BinaryReader } from "@bufbuild/protobuf/wire";
import { status } from "@grpc/grpc-js";
import { parseEndpoint } from "../setup/endpoint.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { openChannel, type RunnerClientOptions } from "./channel.ts";
import { unconnectedMessage } from "./error-of-call.ts";

/** A server's state (grpc.health.v1.HealthCheckResponse.ServingStatus). */
export type HealthState = "UNKNOWN" | "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN";

const STATES: readonly HealthState[] = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/**
 * Queries a runner's health service once. Needs no token.
 *
 * @throws RunnerGrpcError `Unavailable` if no server answers in time, `Unimplemented` if the server has no health
 *   service
 * @throws RunnerSetupError
 */
export async function checkHealth(options: RunnerClientOptions, timeoutMs: number): Promise<HealthState> {
  const endpoint = parseEndpoint(options.endpoint);
  const client = openChannel(endpoint, options);
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        "/grpc.health.v1.Health/Check",
        () => Buffer.alloc(0),
        readState,
        undefined,
        { deadline: Date.now() + timeoutMs },
        (cause, state) => {
          if (cause === null) return resolve(state ?? "UNKNOWN");
          const code = cause.code === status.UNIMPLEMENTED ? "Unimplemented" : "Unavailable";
          const { text } = endpoint;
          const message = unconnectedMessage(cause.details, text) ?? `the runner at ${text}: ${cause.details}`;
          reject(new RunnerGrpcError(code, message, { cause }));
        },
      );
    });
  } finally {
    client.close();
  }
}

// HealthCheckResponse { ServingStatus status = 1; }. The field is omitted if it is 0.
function readState(message: Buffer): HealthState {
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1) return STATES[reader.int32()] ?? "UNKNOWN";
    reader.skip(wireType);
  }
  return "UNKNOWN";
}
