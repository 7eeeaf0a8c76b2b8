import { Metadata } from "@grpc/grpc-js";
import type { RunOptions, RunPhase } from "@xfn/runner-contract";
import { MAX_PAYLOAD_BYTES } from "@xfn/runner-contract";
import type { Endpoint } from "../setup/endpoint.ts";
import { type CallReport, STEP_KEY, writeReport } from "../wire/call-trailers.ts";
import { PACKAGE_KEY } from "../wire/function-service.ts";
import { readType } from "../wire/function-type.ts";
import type { MessagePieces } from "../wire/large-message.ts";
import { MAX_STEP_BYTES } from "../wire/limits.ts";
import { PULL_KEY, readPullHeader } from "../wire/pull-config.ts";
import { checkImage, decodeRequest, encodeResponse, type RequestedRun } from "../wire/request.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { RUN_FUNCTION } from "../wire/service-definition.ts";
import type { Admitted } from "./call-interceptor.ts";
import { errorOfRun, type Failure, failureOf } from "./failure.ts";
import type { Authentication } from "./listener-policy.ts";
import type { MessageMemory } from "./message-memory.ts";

/** The caller: its kind of socket and its authentication. */
export interface Caller {
  readonly socket: Endpoint["kind"];
  readonly authentication: Authentication;
  /** The address of the listener, as the operator wrote it. */
  readonly address: string;
}

/** Options of a served `run`. `signal`, `onPhase` and `onStderr` are always set. */
export interface ServedRunOptions extends RunOptions {
  signal: AbortSignal;
  onPhase: NonNullable<RunOptions["onPhase"]>;
  onStderr: NonNullable<RunOptions["onStderr"]>;
  /** For the operator's rules, such as `oci:DIR` images only from path sockets. */
  caller: Caller;
}

/** The outcome of a call. */
export interface CallOutcome {
  /** Empty if the request could not be decoded. */
  readonly image: string;
  readonly step: string | undefined;
  /** The gRPC method, `/package.Service/Method`. */
  readonly path: string;
  readonly caller: Caller;
  /** Undefined if the call succeeded. */
  readonly error: RunnerGrpcError | undefined;
  /** Milliseconds in the queue. */
  readonly queuedMs: number;
  /** Milliseconds from request to answer, including the queue. */
  readonly totalMs: number;
  /** Milliseconds of each phase that `run` reported. */
  readonly phases: ReadonlyMap<RunPhase, number>;
  /** 0 if the request could not be decoded. */
  readonly inputBytes: number;
  /** 0 if the call failed. */
  readonly outputBytes: number;
  /** The options that `run` received; identifies the call. Undefined if `run` was not called. */
  readonly options: ServedRunOptions | undefined;
  /** The caller's trace, in the headers `traceparent` and `tracestate` (W3C Trace Context), unchecked. */
  readonly trace: { readonly traceparent?: string; readonly tracestate?: string };
}

/** Passes a request on to a gRPC method of a function, and returns its response. */
export type ForwardCall = (
  image: string,
  path: string,
  request: Uint8Array,
  options: ServedRunOptions,
) => Promise<Uint8Array>;

/** What all calls of a listener share. */
export interface CallContext {
  readonly run: (image: string, input: Uint8Array, options: ServedRunOptions) => Promise<Uint8Array>;
  readonly forward: ForwardCall | undefined;
  readonly caller: Caller;
  /** Whether functions may have the runner's network. False if such a function could call the runner. */
  readonly networkAllowed: boolean;
  /** Running calls, to end them. */
  readonly active: Set<AbortController>;
  /** Memory of earlier outputs. */
  readonly memory: MessageMemory;
  readonly onCall: ((outcome: CallOutcome) => void) | undefined;
}

/** What is known of a call so far. */
interface CallRecord {
  readonly report: CallReport;
  request?: RequestedRun;
  step?: string | undefined;
  options?: ServedRunOptions;
  queuedMs: number;
  outputBytes: number;
}

/** A call whose message has arrived. */
export interface ReceivedCall {
  /** The gRPC method, `/package.Service/Method`. */
  readonly path: string;
  readonly metadata: Metadata;
  readonly message: Uint8Array;
  /** Milliseconds since the epoch; `Infinity` without one. */
  readonly deadline: number;
}

/** Sends the end of a call: a failure, or a message. */
export type SendAnswer = (answer: Failure | { message: MessagePieces; trailers: Metadata }) => void;

/** Serves one call. */
export async function serveCall(
  call: ReceivedCall,
  admitted: Admitted,
  context: CallContext,
  answer: SendAnswer,
): Promise<void> {
  const started = performance.now();
  const { signal } = admitted.aborter;
  const record: CallRecord = { report: { phases: new Map(), stderr: "" }, queuedMs: 0, outputBytes: 0 };
  let error: RunnerGrpcError | undefined;
  context.active.add(admitted.aborter);
  try {
    const output = await runCall(call, admitted, context, record);
    const trailers = new Metadata();
    writeReport(record.report, trailers);
    answer({ message: isForwarded(call) ? [output] : encodeResponse(output), trailers });
  } catch (thrown) {
    const cause: unknown = signal.aborted ? signal.reason : thrown;
    error = errorOfRun(cause, record.request?.image ?? "", record.step, record.report.stderr);
    const failure = failureOf(error);
    // The end of stderr is already in the status details.
    writeReport({ ...record.report, stderr: "" }, failure.metadata);
    answer(failure);
  } finally {
    context.active.delete(admitted.aborter);
    context.onCall?.({
      image: record.request?.image ?? "",
      step: record.step,
      path: call.path,
      caller: context.caller,
      error,
      queuedMs: record.queuedMs,
      totalMs: performance.now() - started,
      phases: record.report.phases,
      inputBytes: record.request?.input.length ?? 0,
      outputBytes: record.outputBytes,
      options: record.options,
      trace: traceOf(call.metadata),
    });
  }
}

async function runCall(
  call: ReceivedCall,
  { ticket, aborter: { signal } }: Admitted,
  context: CallContext,
  record: CallRecord,
): Promise<Uint8Array> {
  signal.throwIfAborted();
  const request = isForwarded(call) ? forwardedRequest(call) : requestOf(call);
  record.request = request;
  record.step = stepOf(call.metadata);
  checkNetwork(request, context);
  const queued = performance.now();
  const release = await ticket.slot(signal);
  record.queuedMs = performance.now() - queued;
  let output: Uint8Array;
  try {
    // The caller may have gone before the slot was free. A signal that is aborted already emits no event.
    signal.throwIfAborted();
    record.options = servedOptions(request, record, signal, context);
    const { forward } = context;
    output =
      forward !== undefined && isForwarded(call)
        ? await forward(request.image, call.path, request.input, record.options)
        : await context.run(request.image, request.input, record.options);
    ticket.answer(output.length);
  } finally {
    release();
  }
  // A run that ignored the signal may have an output, but its caller is gone.
  signal.throwIfAborted();
  checkOutput(output, request.image, record.step);
  record.outputBytes = output.length;
  return output;
}

/** Whether it is a call of Crossplane's service, which is passed on. */
function isForwarded(call: ReceivedCall): boolean {
  return call.path !== RUN_FUNCTION.path;
}

function requestOf({ message, metadata }: ReceivedCall): RequestedRun {
  const request = decodeRequest(message);
  return { ...request, options: { ...request.options, ...readType(metadata) } };
}

function forwardedRequest(call: ReceivedCall): RequestedRun {
  const [image] = call.metadata.get(PACKAGE_KEY);
  if (typeof image !== "string")
    throw new RunnerGrpcError("InvalidRequest", `the request names no function: send its package in ${PACKAGE_KEY}`);
  checkImage(image);
  const timeoutMs = Math.ceil(call.deadline - Date.now());
  const pull = readPullHeader(call.metadata.get(PULL_KEY)[0]);
  return {
    image,
    input: call.message,
    options: { ...pull, ...(Number.isFinite(timeoutMs) && { timeoutMs: Math.max(timeoutMs, 1) }) },
  };
}

function servedOptions(
  { options }: RequestedRun,
  { step, report }: CallRecord,
  signal: AbortSignal,
  { caller, memory }: CallContext,
): ServedRunOptions {
  return {
    ...options,
    step,
    signal,
    outputMemory: () => memory.takeOutput(),
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
  // The step appears in messages and logs, where a line break would forge a line.
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
  const why = "it listens without authentication, so a function in its network could call it";
  throw new RunnerGrpcError("PermissionDenied", `${image}: this runner shares its network with no function: ${why}`, {
    image,
  });
}

function checkOutput(output: Uint8Array, image: string, step: string | undefined): void {
  if (output.length <= MAX_PAYLOAD_BYTES) return;
  const message = `${image}: the output has ${output.length} bytes; the maximum is ${MAX_PAYLOAD_BYTES}`;
  throw new RunnerGrpcError("OutputTooLarge", message, { phase: "output", image, step });
}
