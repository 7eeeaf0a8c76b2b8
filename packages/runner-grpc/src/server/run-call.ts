import { Metadata, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import type { RunOptions, RunPhase } from "@xfn/runner-contract";
import { MAX_PAYLOAD_BYTES } from "@xfn/runner-contract";
import type { Endpoint } from "../setup/endpoint.ts";
import { type CallReport, STEP_KEY, writeReport } from "../wire/call-trailers.ts";
import { MAX_STEP_BYTES } from "../wire/limits.ts";
import { decodeRequest, encodeResponse, type RequestedRun } from "../wire/request.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import type { Admitted } from "./call-interceptor.ts";
import { errorOfRun, failureOf } from "./failure.ts";
import type { Authentication } from "./listener-policy.ts";

/** Who calls: through which kind of socket, and by which proof. */
export interface Caller {
  readonly socket: Endpoint["kind"];
  readonly authentication: Authentication;
  /** The address that was listened on, as the operator wrote it. */
  readonly address: string;
}

/** What a served `run` is given besides image and input. `signal`, `onPhase` and `onStderr` are always there. */
export interface ServedRunOptions extends RunOptions {
  signal: AbortSignal;
  onPhase: NonNullable<RunOptions["onPhase"]>;
  onStderr: NonNullable<RunOptions["onStderr"]>;
  /** For rules of the operator's that depend on it: `oci:DIR` images only from path sockets. */
  caller: Caller;
}

/** What became of a call. */
export interface CallOutcome {
  /** Empty where the request could not be read. */
  readonly image: string;
  readonly step: string | undefined;
  readonly caller: Caller;
  /** Undefined if there is an output. */
  readonly error: RunnerGrpcError | undefined;
  /** Milliseconds in the queue. */
  readonly queuedMs: number;
  /** Milliseconds from request to answer, those in the queue included. */
  readonly totalMs: number;
  /** Milliseconds of each phase that `run` reported. */
  readonly phases: ReadonlyMap<RunPhase, number>;
  /** 0 where the request could not be read. */
  readonly inputBytes: number;
  /** 0 where there is none. */
  readonly outputBytes: number;
  /** What `run` was given, by which a program finds what it knows of the call; undefined where it was not called. */
  readonly options: ServedRunOptions | undefined;
  /** The caller's trace, in the headers `traceparent` and `tracestate` (W3C Trace Context), unchecked. */
  readonly trace: { readonly traceparent?: string; readonly tracestate?: string };
}

/** What calls of one listener have in common. */
export interface CallContext {
  readonly run: (image: string, input: Uint8Array, options: ServedRunOptions) => Promise<Uint8Array>;
  readonly caller: Caller;
  /** Whether functions may have the runner's network: not if such a function could call the runner. */
  readonly networkAllowed: boolean;
  /** Calls that are under way, to end them. */
  readonly active: Set<AbortController>;
  readonly onCall: ((outcome: CallOutcome) => void) | undefined;
}

/** Serves one call. */
export async function serveCall(
  call: ServerUnaryCall<Uint8Array, Uint8Array>,
  { ticket, aborter }: Admitted,
  context: CallContext,
  answer: sendUnaryData<Uint8Array>,
): Promise<void> {
  const started = performance.now();
  const report: CallReport = { phases: new Map(), stderr: "" };
  let request: RequestedRun | undefined;
  let step: string | undefined;
  let queuedMs = 0;
  let error: RunnerGrpcError | undefined;
  let options: ServedRunOptions | undefined;
  let outputBytes = 0;
  context.active.add(aborter);
  try {
    aborter.signal.throwIfAborted();
    request = decodeRequest(call.request);
    step = stepOf(call.metadata);
    checkNetwork(request, context);
    const free = await ticket.slot(aborter.signal);
    queuedMs = performance.now() - started;
    let output: Uint8Array;
    try {
      // The caller may have gone while the slot was on its way: a signal that is aborted already tells a run nothing.
      aborter.signal.throwIfAborted();
      options = served(request, step, report, aborter.signal, context.caller);
      output = await context.run(request.image, request.input, options);
    } finally {
      free();
    }
    // A run that pays no heed to the signal may still be right, but nobody waits for it.
    aborter.signal.throwIfAborted();
    checkOutput(output, request.image, step);
    outputBytes = output.length;
    const trailers = new Metadata();
    writeReport(report, trailers);
    answer(null, encodeResponse(output), trailers);
  } catch (thrown) {
    const cause: unknown = aborter.signal.aborted ? aborter.signal.reason : thrown;
    error = errorOfRun(cause, request?.image ?? "", step, report.stderr);
    const failure = failureOf(error);
    // The end of stderr is in the details already.
    writeReport({ ...report, stderr: "" }, failure.metadata);
    answer(failure);
  } finally {
    context.active.delete(aborter);
    const totalMs = performance.now() - started;
    context.onCall?.({
      image: request?.image ?? "",
      step,
      caller: context.caller,
      error,
      queuedMs,
      totalMs,
      phases: report.phases,
      inputBytes: request?.input.length ?? 0,
      outputBytes,
      options,
      trace: traceOf(call.metadata),
    });
  }
}

function served(
  { options }: RequestedRun,
  step: string | undefined,
  report: CallReport,
  signal: AbortSignal,
  caller: Caller,
): ServedRunOptions {
  return {
    ...options,
    ...(step === undefined ? {} : { step }),
    signal,
    onPhase: (phase, ms) => report.phases.set(phase, ms),
    onStderr: (tail) => {
      report.stderr = tail;
    },
    caller,
  };
}

function stepOf(metadata: Metadata): string | undefined {
  const [value] = metadata.get(STEP_KEY);
  if (!Buffer.isBuffer(value) || value.length === 0) return undefined;
  // It goes into messages and logs, where a line break would forge a line.
  return value
    .subarray(0, MAX_STEP_BYTES)
    .toString("utf8")
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "\uFFFD");
}

function traceOf(metadata: Metadata): CallOutcome["trace"] {
  const [traceparent] = metadata.get("traceparent");
  const [tracestate] = metadata.get("tracestate");
  return {
    ...(typeof traceparent === "string" ? { traceparent } : {}),
    ...(typeof tracestate === "string" ? { tracestate } : {}),
  };
}

function checkNetwork({ image, options }: RequestedRun, { networkAllowed }: CallContext): void {
  if (options.network !== "Accessible" || networkAllowed) return;
  const why = "a function in its network could call it, because it listens without authentication";
  throw new RunnerGrpcError("PermissionDenied", `${image}: this runner gives no function its network: ${why}`, {
    image,
  });
}

function checkOutput(output: Uint8Array, image: string, step: string | undefined): void {
  if (output.length <= MAX_PAYLOAD_BYTES) return;
  const message = `${image}: the output has ${output.length} bytes, and may have ${MAX_PAYLOAD_BYTES}`;
  const details = { phase: "output" as const, image, ...(step === undefined ? {} : { step }) };
  throw new RunnerGrpcError("OutputTooLarge", message, details);
}
