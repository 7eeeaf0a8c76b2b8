import {
  type EmitRequestRequest,
  type EmitResponseRequest,
  type StepMeta,
  type Timestamp,
} from "@xfn/function-grpc/inspector";
import { isObject, type JsonObject } from "@xfn/json";
import { parseJsonDocument } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";

/** A message of a controller. */
export interface ReceivedMessage {
  readonly type: "request" | "response";
  readonly meta: StepMeta;
  /** Undefined for a call that failed. */
  readonly document: JsonObject | undefined;
  /** Why the call failed; empty if it did not. */
  readonly error: string;
  readonly bytes: number;
  /** When the message arrived, in milliseconds since the epoch. */
  readonly at: number;
}

const NO_META: StepMeta = { traceId: "", spanId: "", stepIndex: 0, stepName: "", iteration: 0, functionName: "" };

/** @throws {DocumentError} */
export function receivedRequest({ request, meta = NO_META }: EmitRequestRequest, at: number): ReceivedMessage {
  return { type: "request", meta, document: documentOf(request), error: "", bytes: request.length, at };
}

/** @throws {DocumentError} */
export function receivedResponse(
  { response, error, meta = NO_META }: EmitResponseRequest,
  at: number,
): ReceivedMessage {
  return { type: "response", meta, document: documentOf(response), error, bytes: response.length, at };
}

function documentOf(bytes: Uint8Array): JsonObject | undefined {
  const value = bytes.length === 0 ? undefined : parseJsonDocument(bytes);
  return isObject(value) ? value : undefined;
}

/** A message as one line of JSON, with the names of protobuf's JSON form. */
export function printMessage({ type, meta, document, error }: ReceivedMessage): string {
  const { timestamp, compositionMeta, operationMeta, ...rest } = meta;
  return printJson({
    meta: {
      ...(timestamp && { timestamp: new Date(millisecondsOf(timestamp)).toISOString() }),
      ...rest,
      ...(compositionMeta && { compositionMeta: { ...compositionMeta } }),
      ...(operationMeta && { operationMeta: { ...operationMeta } }),
    },
    ...(document && { [type]: document }),
    ...(error !== "" && { error }),
  });
}

// https://protobuf.dev/reference/protobuf/google.protobuf/#timestamp
const MAX_SECONDS = 253_402_300_799n;

/** Milliseconds since the epoch; 0 for a time that no Timestamp can have. */
export function millisecondsOf({ seconds, nanos }: Timestamp): number {
  return seconds < 0n || seconds > MAX_SECONDS ? 0 : Number(seconds) * 1000 + Math.trunc(nanos / 1e6);
}
