import { Metadata, type ServerErrorResponse, type status } from "@grpc/grpc-js";
import { isRunnerPhase } from "@xfn/runner-contract";
import { firstBytes } from "../wire/bounded-text.ts";
import { MAX_STATUS_TEXT_BYTES } from "../wire/limits.ts";
import { RunnerGrpcError, type RunnerGrpcErrorDetails, statusOf } from "../wire/runner-grpc-error.ts";
import { statusNumber } from "../wire/status-codes.ts";
import { encodeStatusDetails, STATUS_DETAILS_KEY } from "../wire/status-details.ts";

/** A failed call as gRPC sends it. */
export interface Failure {
  code: status;
  details: string;
  metadata: Metadata;
}

/** Converts an error to a status with details. */
export function failureOf(error: RunnerGrpcError): Failure & Partial<ServerErrorResponse> {
  const metadata = new Metadata();
  metadata.set(STATUS_DETAILS_KEY, encodeStatusDetails(error));
  return {
    name: error.name,
    message: error.message,
    code: statusNumber(error.status),
    details: firstBytes(error.message, MAX_STATUS_TEXT_BYTES),
    metadata,
  };
}

/**
 * Converts an error that `run` threw to an error of the contract. Errors with a `code` of the contract keep it and
 * their details. Any other error becomes `Internal`: its text may contain secrets, and only the operator may read it.
 */
export function errorOfRun(thrown: unknown, image: string, step: string | undefined, reported = ""): RunnerGrpcError {
  if (thrown instanceof RunnerGrpcError) return thrown;
  const known: RunnerGrpcErrorDetails = { image, cause: thrown };
  if (step !== undefined) known.step = step;
  if (reported !== "") known.stderr = reported;
  if (!(thrown instanceof Error)) return unknown(known);
  const { message, code, phase, stderr, exitCode, retryable } = thrown as Error & Readonly<Record<string, unknown>>;
  const expected = typeof code === "string" && statusOf(code) !== undefined;
  if (!expected) return unknown(known);
  if (isRunnerPhase(phase)) known.phase = phase;
  if (typeof stderr === "string") known.stderr = stderr;
  if (typeof exitCode === "number") known.exitCode = exitCode;
  if (typeof retryable === "boolean") known.retryable = retryable;
  return new RunnerGrpcError(code, message, known);
}

function unknown(known: RunnerGrpcErrorDetails): RunnerGrpcError {
  const message = `${known.image}: the runner failed unexpectedly; its log has the reason`;
  return new RunnerGrpcError("Internal", message, known);
}
