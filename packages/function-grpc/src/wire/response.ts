import { bytes, Duration, enumeration, type Message, message, optional, repeated, text, value } from "@xfn/protobuf";
import type { Severity, Status, Target } from "./enums.ts";
import { Requirements } from "./requirements.ts";
import { State } from "./state.ts";

export interface ResponseMeta {
  /** The tag of the request. */
  tag: string;
  /** How long the response can be reused. */
  ttl?: Duration | undefined;
}

export const ResponseMeta: Message<ResponseMeta> = message("ResponseMeta", {
  tag: value(1, text),
  ttl: optional(2, Duration),
});

export interface Result {
  severity: Severity;
  message: string;
  reason?: string | undefined;
  target?: Target | undefined;
}

export const Result: Message<Result> = message("Result", {
  severity: value(1, enumeration<Severity>("Severity")),
  message: value(2, text),
  reason: optional(3, text),
  target: optional(4, enumeration<Target>("Target")),
});

/** A condition of the composite resource. */
export interface Condition {
  type: string;
  status: Status;
  reason: string;
  message?: string | undefined;
  target?: Target | undefined;
}

export const Condition: Message<Condition> = message("Condition", {
  type: value(1, text),
  status: value(2, enumeration<Status>("Status")),
  reason: value(3, text),
  message: optional(4, text),
  target: optional(5, enumeration<Target>("Target")),
});

/** The response of a function (proto/apiextensions/fn/proto/v1/run_function.proto). */
export interface RunFunctionResponse {
  meta?: ResponseMeta | undefined;
  /** Complete: an omitted resource is no longer desired. */
  desired?: State | undefined;
  results: Result[];
  /** A Struct: replaces the context of the request. */
  context?: Uint8Array | undefined;
  requirements?: Requirements | undefined;
  conditions: Condition[];
  /** A Struct, only for operations. */
  output?: Uint8Array | undefined;
}

export const RunFunctionResponse: Message<RunFunctionResponse> = message("RunFunctionResponse", {
  meta: optional(1, ResponseMeta),
  desired: optional(2, State),
  results: repeated(3, Result),
  context: optional(4, bytes),
  requirements: optional(5, Requirements),
  conditions: repeated(6, Condition),
  output: optional(7, bytes),
});
