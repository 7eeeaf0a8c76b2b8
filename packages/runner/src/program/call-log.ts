import { bounded, type Log } from "@xfn/program";
import type { CallOutcome, RunnerGrpcError } from "@xfn/runner-grpc";
import type { ImageUse } from "./observed-store.ts";

/**
 * One line for a call that has ended. Nothing of its input, output, stderr or credentials is in it.
 */
export function logCall(log: Log, outcome: CallOutcome, use: ImageUse | undefined): void {
  const { image, step, caller, error, phases } = outcome;
  const line = {
    image,
    ...(use?.digest === undefined ? {} : { digest: use.digest }),
    ...(step === undefined ? {} : { step }),
    code: error?.code ?? "OK",
    ...(error === undefined ? {} : failure(error)),
    totalMs: rounded(outcome.totalMs),
    queueMs: rounded(outcome.queuedMs),
    ...Object.fromEntries([...phases].map(([phase, ms]) => [`${phase}Ms`, rounded(ms)])),
    inputBytes: outcome.inputBytes,
    outputBytes: outcome.outputBytes,
    ...(use === undefined || use.pulledBytes === 0 ? {} : { pulledBytes: use.pulledBytes }),
    address: caller.address,
  };
  // A call that failed by its own doing is no fault of the runner's.
  if (error !== undefined && OWN_FAULTS.has(error.code)) log.warn(line, "call");
  else log.info(line, "call");
}

/** One line for a call that was turned away before its message was read. */
export function logRefused(log: Log, error: RunnerGrpcError): void {
  log.warn({ code: error.code, error: bounded(error.message) }, "call refused");
}

const OWN_FAULTS: ReadonlySet<string> = new Set([
  "Internal",
  "RuntimeMissing",
  "NamespaceUnavailable",
  "LimitUnavailable",
  "RootFilesystemFailed",
  "StartFailed",
  "Closed",
]);

function failure(error: RunnerGrpcError): Record<string, unknown> {
  return {
    ...(error.phase === undefined ? {} : { phase: error.phase }),
    ...(error.exitCode === undefined ? {} : { exitCode: error.exitCode }),
    retryable: error.retryable,
    error: bounded(withCause(error)),
  };
}

// The caller's message of an Internal error refers to the log, so the log has the cause.
function withCause(error: RunnerGrpcError): string {
  const { cause } = error;
  return error.code === "Internal" && cause instanceof Error ? `${error.message} (${cause.message})` : error.message;
}

function rounded(ms: number): number {
  return Number(ms.toFixed(1));
}
