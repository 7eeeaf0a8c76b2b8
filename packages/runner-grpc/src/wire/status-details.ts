import { isRunnerPhase } from "@xfn/runner-contract";
import { firstBytes, lastBytes } from "./bounded-text.ts";
import { DebugInfo, ErrorInfo, RetryInfo, Status } from "./error-details.ts";
import {
  MAX_IMAGE_LENGTH,
  MAX_STATUS_DETAIL_BYTES,
  MAX_STATUS_TEXT_BYTES,
  MAX_STDERR_DETAIL_BYTES,
  MAX_STEP_BYTES,
} from "./limits.ts";
import type { RunnerGrpcError, RunnerGrpcErrorDetails } from "./runner-grpc-error.ts";
import { statusNumber } from "./status-codes.ts";

/** The trailer with a google.rpc.Status (https://grpc.io/docs/guides/error/#richer-error-model). */
export const STATUS_DETAILS_KEY = "grpc-status-details-bin";

/** The domain of the reasons. Reasons in other domains are ignored. */
export const ERROR_DOMAIN = "runner.xfn";

const TYPE_PREFIX = "type.googleapis.com/google.rpc.";

/** Encodes the details of a failed call. Their size is limited, so that they fit into trailers. */
export function encodeStatusDetails(error: RunnerGrpcError): Buffer {
  const metadata = new Map<string, string>([["retryable", String(error.retryable)]]);
  if (error.undelivered) metadata.set("undelivered", "true");
  if (error.phase !== undefined) metadata.set("phase", error.phase);
  // Half the maximum is enough for real references, and the message contains the image too.
  if (error.image !== undefined) metadata.set("image", firstBytes(error.image, MAX_IMAGE_LENGTH / 2));
  if (error.step !== undefined) metadata.set("step", firstBytes(error.step, MAX_STEP_BYTES));
  if (error.exitCode !== undefined) metadata.set("exitCode", String(error.exitCode));
  const info = ErrorInfo.encode({ reason: reasonOf(error.code), domain: ERROR_DOMAIN, metadata });
  const details = [{ typeUrl: `${TYPE_PREFIX}ErrorInfo`, value: info }];
  if (error.retryAfterMs !== undefined) {
    const ms = Math.max(0, Math.ceil(error.retryAfterMs));
    const retryDelay = { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 };
    details.push({ typeUrl: `${TYPE_PREFIX}RetryInfo`, value: RetryInfo.encode({ retryDelay }) });
  }
  if (error.stderr !== undefined && error.stderr !== "") {
    const detail = lastBytes(error.stderr, MAX_STDERR_DETAIL_BYTES);
    details.push({
      typeUrl: `${TYPE_PREFIX}DebugInfo`,
      value: DebugInfo.encode({ stackEntries: [], detail }),
    });
  }
  const message = firstBytes(error.message, MAX_STATUS_TEXT_BYTES);
  return Buffer.from(Status.encode({ code: statusNumber(error.status), message, details }));
}

/** A server's details of a failed call. */
export interface StatusDetails {
  readonly code: string;
  readonly message: string;
  readonly details: RunnerGrpcErrorDetails;
}

/** Decodes the result of {@link encodeStatusDetails}; undefined for other or malformed details. */
export function decodeStatusDetails(bytes: Uint8Array): StatusDetails | undefined {
  if (bytes.length > MAX_STATUS_DETAIL_BYTES) return undefined;
  try {
    return read(Status.decode(bytes));
  } catch {
    // Malformed details must not hide the status code.
    return undefined;
  }
}

function read(status: Status): StatusDetails | undefined {
  let code: string | undefined;
  const details: RunnerGrpcErrorDetails = {};
  for (const { typeUrl, value } of status.details) {
    if (typeUrl === `${TYPE_PREFIX}ErrorInfo`) {
      const info = ErrorInfo.decode(value);
      if (info.domain !== ERROR_DOMAIN) continue;
      code = codeOfReason(info.reason);
      readMetadata(info.metadata, details);
    } else if (typeUrl === `${TYPE_PREFIX}RetryInfo`) {
      const delay = RetryInfo.decode(value).retryDelay;
      if (delay !== undefined)
        details.retryAfterMs = Math.max(0, Number(delay.seconds) * 1000 + delay.nanos / 1_000_000);
    } else if (typeUrl === `${TYPE_PREFIX}DebugInfo`) {
      details.stderr = DebugInfo.decode(value).detail;
    }
  }
  return code === undefined ? undefined : { code, message: status.message, details };
}

function readMetadata(metadata: ReadonlyMap<string, string>, details: RunnerGrpcErrorDetails): void {
  const phase = metadata.get("phase");
  if (isRunnerPhase(phase)) details.phase = phase;
  const image = metadata.get("image");
  if (image !== undefined) details.image = image;
  const step = metadata.get("step");
  if (step !== undefined) details.step = step;
  const exitCode = metadata.get("exitCode");
  if (exitCode !== undefined && /^\d{1,3}$/.test(exitCode)) details.exitCode = Number(exitCode);
  details.retryable = metadata.get("retryable") === "true";
  if (metadata.get("undelivered") === "true") details.undelivered = true;
}

// ErrorInfo's reasons are upper snake case: PullFailed becomes PULL_FAILED.
function reasonOf(code: string): string {
  return code.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toUpperCase();
}

function codeOfReason(reason: string): string {
  return reason.toLowerCase().replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
