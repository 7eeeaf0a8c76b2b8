import { bytes, Duration, int32, type Message, map, message, optional, repeated, text, value } from "@xfn/protobuf";

// The standard details of a failed call (https://grpc.io/docs/guides/error/#richer-error-model), as far as a runner
// sends them: proto/google/rpc.

/** google.protobuf.Any. */
export interface Any {
  typeUrl: string;
  value: Uint8Array;
}

export const Any: Message<Any> = message("Any", { typeUrl: value(1, text), value: value(2, bytes) });

export interface Status {
  code: number;
  message: string;
  details: Any[];
}

export const Status: Message<Status> = message("Status", {
  code: value(1, int32),
  message: value(2, text),
  details: repeated(3, Any),
});

export interface ErrorInfo {
  reason: string;
  domain: string;
  metadata: Map<string, string>;
}

export const ErrorInfo: Message<ErrorInfo> = message("ErrorInfo", {
  reason: value(1, text),
  domain: value(2, text),
  metadata: map(3, text),
});

export interface RetryInfo {
  retryDelay?: Duration | undefined;
}

export const RetryInfo: Message<RetryInfo> = message("RetryInfo", { retryDelay: optional(1, Duration) });

export interface DebugInfo {
  stackEntries: string[];
  detail: string;
}

export const DebugInfo: Message<DebugInfo> = message("DebugInfo", {
  stackEntries: repeated(1, text),
  detail: value(2, text),
});
