import type { RunOptions, RunPhase } from "@xfn/runner-contract";
import { MAX_PAYLOAD_BYTES } from "@xfn/runner-contract";
import type { TraceContext } from "@xfn/runner-contract/trace-context";
import type { Endpoint } from "../setup/endpoint.ts";
import type { CallReport } from "../wire/call-trailers.ts";
import type { RequestedRun } from "../wire/request.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { RUN_FUNCTION } from "../wire/service-definition.ts";
import type { Admitted } from "./call-interceptor.ts";
import { errorOfRun } from "./failure.ts";
import type { Authentication } from "./listener-policy.ts";
import type { MessageMemory } from "./message-memory.ts";

/** The caller: its kind of socket and its authentication. */
export interface Caller {
  /** `none`: the caller is in this process. */
  readonly socket: Endpoint["kind"] | "none";
  readonly authentication: Authentication;
  /** The address of the listener, as the operator wrote it. */
  readonly address: string;
}

/** Options of a served `run`. `signal`, `onPhase` and `onStderr` are always set. */
export interface ServedRunOptions extends RunOptions {
  signal: AbortSignal;
  onPhase: NonNullable<RunOptions["onPhase"]>;
  onStderr: NonNullable<RunOptions["onStderr"]>;
  /** For the operator's rules. For example, `oci:DIR` images are allowed only from path sockets. */
  caller: Caller;
}

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
  /** The options that `run` received; their identity is that of the call. Undefined if `run` was not called. */
  readonly options: ServedRunOptions | undefined;
  /** The caller's trace, unchecked. */
  readonly trace: TraceContext;
}

/** Passes a request to a gRPC method of a function, and returns its response. */
export type ForwardCall = (
  image: string,
  path: string,
  request: Uint8Array,
  options: ServedRunOptions,
) => Promise<Uint8Array>;

/** The state that all calls of a listener share. */
export interface CallContext {
  readonly run: (image: string, input: Uint8Array, options: ServedRunOptions) => Promise<Uint8Array>;
  readonly forward: ForwardCall | undefined;
  readonly caller: Caller;
  /** Why functions may not use the runner's network, as the end of a sentence; undefined if they may. */
  readonly networkRefusal: string | undefined;
  /** Running calls, so that they can be ended. */
  readonly active: Set<AbortController>;
  /** Memory of earlier outputs, if it can be reused. */
  readonly memory: Pick<MessageMemory, "takeOutput"> | undefined;
  readonly onCall: ((outcome: CallOutcome) => void) | undefined;
}

/** The details of a call that are known so far. */
interface CallRecord {
  readonly report: CallReport;
  request?: RequestedRun;
  step?: string | undefined;
  options?: ServedRunOptions;
  queuedMs: number;
  outputBytes: number;
}

/** An admitted call. */
export interface CallToPerform {
  /** The gRPC method, `/package.Service/Method`. */
  readonly path: string;
  readonly step: string | undefined;
  readonly trace: CallOutcome["trace"];
  /** Reads the request. @throws RunnerGrpcError */
  readonly request: () => RequestedRun;
}

export type CallEnd = { readonly output: Uint8Array } | { readonly error: RunnerGrpcError };

/** Performs one call. @param answer called with its end, before the outcome is reported */
export async function performCall(
  call: CallToPerform,
  admitted: Admitted,
  context: CallContext,
  answer: (end: CallEnd, report: CallReport) => void,
): Promise<void> {
  const started = performance.now();
  const { signal } = admitted.aborter;
  const record: CallRecord = { report: { phases: new Map(), stderr: "" }, queuedMs: 0, outputBytes: 0 };
  let error: RunnerGrpcError | undefined;
  context.active.add(admitted.aborter);
  try {
    const output = await runCall(call, admitted, context, record);
    answer({ output }, record.report);
  } catch (thrown) {
    const reason: unknown = signal.aborted ? signal.reason : thrown;
    const cause = record.options === undefined ? beforeStart(reason) : reason;
    error = errorOfRun(cause, record.request?.image ?? "", record.step, record.report.stderr);
    answer({ error }, record.report);
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
      trace: call.trace,
    });
  }
}

async function runCall(
  call: CallToPerform,
  { ticket, aborter: { signal } }: Admitted,
  context: CallContext,
  record: CallRecord,
): Promise<Uint8Array> {
  signal.throwIfAborted();
  const request = call.request();
  record.request = request;
  record.step = call.step === undefined ? undefined : printable(call.step);
  checkNetwork(request, context);
  const queued = performance.now();
  const release = await ticket.slot(signal);
  record.queuedMs = performance.now() - queued;
  let output: Uint8Array;
  try {
    // The caller may have gone before the slot was free. An aborted signal does not emit another event.
    signal.throwIfAborted();
    record.options = servedOptions(request, record, signal, context);
    const { forward } = context;
    output =
      forward !== undefined && isForwarded(call.path)
        ? await forward(request.image, call.path, request.input, record.options)
        : await context.run(request.image, request.input, record.options);
    ticket.answer(output.length);
  } finally {
    release();
  }
  // A run that ignored the signal may return an output, but its caller has gone.
  signal.throwIfAborted();
  checkOutput(output, request.image, record.step);
  record.outputBytes = output.length;
  return output;
}

/** Whether the path is a method of Crossplane's service, whose calls are passed to a function. */
export function isForwarded(path: string): boolean {
  return path !== RUN_FUNCTION.path;
}

/** The error of a call whose function was not called. The abort reason of a stopping runner describes running calls. */
function beforeStart(reason: unknown): unknown {
  if (!(reason instanceof RunnerGrpcError) || reason.code !== "Closed") return reason;
  const message = "this runner was stopped before the function started; use another one, or try again";
  return new RunnerGrpcError("Closed", message, { retryAfterMs: 1_000, undelivered: true });
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
    ...(memory && { outputMemory: () => memory.takeOutput() }),
    onPhase: (phase, ms) => report.phases.set(phase, ms),
    onStderr: (tail) => {
      report.stderr = tail;
    },
    caller,
  };
}

/** The step appears in messages and logs, where a line break would forge a line. */
function printable(step: string): string {
  return step.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "\uFFFD");
}

function checkNetwork({ image, options }: RequestedRun, { networkRefusal: why }: CallContext): void {
  if (options.network !== "Accessible" || why === undefined) return;
  throw new RunnerGrpcError("PermissionDenied", `${image}: this runner shares its network with no function: ${why}`, {
    image,
  });
}

function checkOutput(output: Uint8Array, image: string, step: string | undefined): void {
  if (output.length <= MAX_PAYLOAD_BYTES) return;
  const message = `${image}: the output has ${output.length} bytes; the maximum is ${MAX_PAYLOAD_BYTES}`;
  throw new RunnerGrpcError("OutputTooLarge", message, { phase: "output", image, step });
}
