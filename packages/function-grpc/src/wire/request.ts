import { bytes, enumeration, type Message, map, message, optional, repeated, text, value } from "@xfn/protobuf";
import type { Capability } from "./enums.ts";
import { Credentials, Resources, Schema, State } from "./state.ts";

export interface RequestMeta {
  /** Equal for equal requests. */
  tag: string;
  /** The features of responses that the caller supports. */
  capabilities: Capability[];
}

export const RequestMeta: Message<RequestMeta> = message("RequestMeta", {
  tag: value(1, text),
  capabilities: repeated(2, enumeration<Capability>("Capability")),
});

/** The request of a function (proto/apiextensions/fn/proto/v1/run_function.proto). */
export interface RunFunctionRequest {
  meta?: RequestMeta | undefined;
  observed?: State | undefined;
  /** The desired state of the steps before. */
  desired?: State | undefined;
  /** A Struct: the `input` of the pipeline step. */
  input?: Uint8Array | undefined;
  /** A Struct: data that steps pass to later steps. */
  context?: Uint8Array | undefined;
  /** The form of `requiredResources` in Crossplane 1.x. */
  extraResources: Map<string, Resources>;
  credentials: Map<string, Credentials>;
  /** By the names in `Requirements.resources`. Empty for missing resources. */
  requiredResources: Map<string, Resources>;
  /** By the names in `Requirements.schemas`. */
  requiredSchemas: Map<string, Schema>;
}

export const RunFunctionRequest: Message<RunFunctionRequest> = message("RunFunctionRequest", {
  meta: optional(1, RequestMeta),
  observed: optional(2, State),
  desired: optional(3, State),
  input: optional(4, bytes),
  context: optional(5, bytes),
  extraResources: map(6, Resources),
  credentials: map(7, Credentials),
  requiredResources: map(8, Resources),
  requiredSchemas: map(9, Schema),
});
