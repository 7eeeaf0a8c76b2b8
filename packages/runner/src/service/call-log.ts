import { bounded, type Log } from "@xfn/program";
import type { CallOutcome, RunnerGrpcError } from "@xfn/runner-grpc";
import { LogSampler } from "./log-sampler.ts";
import { loggedMessage } from "./logged-message.ts";
import type { ImageUse } from "./observed-store.ts";

/** Logs one line for each call, and samples rejected calls: a flood of them must not fill the log. */
export class CallLog {
  readonly #log: Log;
  readonly #sampler: LogSampler;

  constructor(log: Log) {
    this.#log = log;
    this.#sampler = new LogSampler({
      onOmitted: (code, omitted, periodMs) => log.warn({ code, omitted, periodMs }, "more calls refused"),
    });
  }

  /** Logs a call that has ended. The line contains no input, output, stderr or credentials. */
  ended(outcome: CallOutcome, use: ImageUse | undefined): void {
    const { error } = outcome;
    if (error !== undefined && isRefusal(error) && !this.#sampler.admits(error.code)) return;
    const line = lineOf(outcome, use);
    // Warn only about errors of the runner itself: other calls failed through their own input or function.
    if (error !== undefined && isOwnFault(error)) this.#log.warn(line, "call");
    else this.#log.info(line, "call");
  }

  /** Logs a call that was rejected before its message was read. */
  refused(error: RunnerGrpcError): void {
    if (!this.#sampler.admits(error.code)) return;
    this.#log.warn({ code: error.code, error: bounded(error.message) }, "call refused");
  }

  /** Logs the number of refused calls that have no line yet. */
  close(): void {
    this.#sampler.flush();
  }
}

/** The fields of a call's line. The log omits undefined ones. */
function lineOf(outcome: CallOutcome, use: ImageUse | undefined): Record<string, unknown> {
  const { image, step, caller, error, phases } = outcome;
  return {
    image,
    digest: use?.digest,
    step,
    code: error?.code ?? "OK",
    ...(error && failure(error)),
    totalMs: rounded(outcome.totalMs),
    queueMs: rounded(outcome.queuedMs),
    ...Object.fromEntries([...phases].map(([phase, ms]) => [`${phase}Ms`, rounded(ms)])),
    inputBytes: outcome.inputBytes,
    outputBytes: outcome.outputBytes,
    ...(use === undefined || use.pulledBytes === 0 ? {} : { pulledBytes: use.pulledBytes }),
    address: caller.address,
  };
}

/** Callers can cause these errors at no cost, because no function runs. */
const REFUSALS: ReadonlySet<string> = new Set(["InvalidRequest", "InputTooLarge", "PermissionDenied", "QueueFull"]);

function isRefusal({ code, byFunction }: RunnerGrpcError): boolean {
  return REFUSALS.has(code) && !byFunction;
}

function isOwnFault({ code, byFunction }: RunnerGrpcError): boolean {
  return OWN_FAULTS.has(code) && !byFunction;
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
    phase: error.phase,
    exitCode: error.exitCode,
    retryable: error.retryable,
    error: withCause(error),
  };
}

// The caller's message of an Internal error refers to the log, so the log has the cause.
function withCause(error: RunnerGrpcError): string {
  const { cause } = error;
  return error.code === "Internal" && cause instanceof Error
    ? bounded(`${error.message} (${cause.message})`)
    : loggedMessage(error);
}

function rounded(ms: number): number {
  return Number(ms.toFixed(1));
}
