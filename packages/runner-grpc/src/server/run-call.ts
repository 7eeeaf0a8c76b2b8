import { Metadata } from "@grpc/grpc-js";
import { STEP_KEY, writeReport } from "../wire/call-trailers.ts";
import { PACKAGE_KEY } from "../wire/function-service.ts";
import { readType } from "../wire/function-type.ts";
import type { MessagePieces } from "../wire/large-message.ts";
import { MAX_STEP_BYTES } from "../wire/limits.ts";
import { PULL_KEY, readPullHeader } from "../wire/pull-config.ts";
import { checkImage, decodeRequest, encodeResponse, type RequestedRun } from "../wire/request.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import type { Admitted } from "./call-interceptor.ts";
import { type Failure, failureOf } from "./failure.ts";
import { type CallContext, type CallOutcome, isForwarded, performCall } from "./perform-call.ts";

/** A call whose message has arrived. */
export interface ReceivedCall {
  /** The gRPC method, `/package.Service/Method`. */
  readonly path: string;
  readonly metadata: Metadata;
  readonly message: Uint8Array;
  /** Milliseconds since the epoch; `Infinity` if the call has no deadline. */
  readonly deadline: number;
}

/** Sends the end of a call: a failure, or a message. */
export type SendAnswer = (answer: Failure | { message: MessagePieces; trailers: Metadata }) => void;

export async function serveCall(
  received: ReceivedCall,
  admitted: Admitted,
  context: CallContext,
  answer: SendAnswer,
): Promise<void> {
  const { path, metadata } = received;
  const request = (): RequestedRun => (isForwarded(path) ? forwardedRequest(received) : requestOf(received));
  const call = { path, step: stepOf(metadata), trace: traceOf(metadata), request };
  await performCall(call, admitted, context, (end, report) => {
    if ("error" in end) {
      const failure = failureOf(end.error);
      // The end of stderr is already in the status details.
      writeReport({ ...report, stderr: "" }, failure.metadata);
      return answer(failure);
    }
    const trailers = new Metadata();
    writeReport(report, trailers);
    answer({ message: isForwarded(path) ? [end.output] : encodeResponse(end.output), trailers });
  });
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

function stepOf(metadata: Metadata): string | undefined {
  const [value] = metadata.get(STEP_KEY);
  if (!Buffer.isBuffer(value) || value.length === 0) return undefined;
  return value.subarray(0, MAX_STEP_BYTES).toString("utf8");
}

function traceOf(metadata: Metadata): CallOutcome["trace"] {
  const [traceparent] = metadata.get("traceparent");
  const [tracestate] = metadata.get("tracestate");
  return {
    ...(typeof traceparent === "string" ? { traceparent } : {}),
    ...(typeof tracestate === "string" ? { tracestate } : {}),
  };
}
