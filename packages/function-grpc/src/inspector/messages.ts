import { bytes, int32, int64, type Message, message, optional, text, value } from "@xfn/protobuf";

// The messages of proto/crossplane/pipeline/v1alpha1/pipeline_inspector.proto.

const SERVICE = "/crossplane.pipeline.v1alpha1.PipelineInspectorService";
export const EMIT_REQUEST: string = `${SERVICE}/EmitRequest`;
export const EMIT_RESPONSE: string = `${SERVICE}/EmitResponse`;

/** google.protobuf.Timestamp. */
export interface Timestamp {
  seconds: bigint;
  nanos: number;
}

export const Timestamp: Message<Timestamp> = message("Timestamp", { seconds: value(1, int64), nanos: value(2, int32) });

/** The XR that is composed. */
export interface CompositionMeta {
  compositionName: string;
  compositeResourceUid: string;
  compositeResourceName: string;
  /** Empty for a cluster-scoped XR. */
  compositeResourceNamespace: string;
  compositeResourceApiVersion: string;
  compositeResourceKind: string;
}

export const CompositionMeta: Message<CompositionMeta> = message("CompositionMeta", {
  compositionName: value(1, text),
  compositeResourceUid: value(2, text),
  compositeResourceName: value(3, text),
  compositeResourceNamespace: value(4, text),
  compositeResourceApiVersion: value(5, text),
  compositeResourceKind: value(6, text),
});

/** The Operation that runs. */
export interface OperationMeta {
  operationName: string;
  operationUid: string;
}

export const OperationMeta: Message<OperationMeta> = message("OperationMeta", {
  operationName: value(1, text),
  operationUid: value(2, text),
});

/** Identifies a call of a function. Its response has the same. */
export interface StepMeta {
  /** When the call began. */
  timestamp?: Timestamp | undefined;
  /** A UUID of the run. */
  traceId: string;
  /** A UUID of the call. */
  spanId: string;
  /** The position of the step in the pipeline, from 0. */
  stepIndex: number;
  stepName: string;
  /** Counts the calls of one step in a run, from 0. */
  iteration: number;
  functionName: string;
  /** One of both is present. */
  operationMeta?: OperationMeta | undefined;
  compositionMeta?: CompositionMeta | undefined;
}

export const StepMeta: Message<StepMeta> = message("StepMeta", {
  timestamp: optional(1, Timestamp),
  traceId: value(2, text),
  spanId: value(3, text),
  stepIndex: value(4, int32),
  stepName: value(5, text),
  iteration: value(6, int32),
  functionName: value(7, text),
  operationMeta: optional(8, OperationMeta),
  compositionMeta: optional(9, CompositionMeta),
});

/** A request of a function. */
export interface EmitRequestRequest {
  /** JSON, without secrets. */
  request: Uint8Array;
  meta?: StepMeta | undefined;
}

export const EmitRequestRequest: Message<EmitRequestRequest> = message("EmitRequestRequest", {
  request: value(1, bytes),
  meta: optional(2, StepMeta),
});

/** A response of a function, or why there is none. */
export interface EmitResponseRequest {
  /** JSON, without secrets. Empty if the call failed. */
  response: Uint8Array;
  /** Why the call failed. */
  error: string;
  meta?: StepMeta | undefined;
}

export const EmitResponseRequest: Message<EmitResponseRequest> = message("EmitResponseRequest", {
  response: value(1, bytes),
  error: value(2, text),
  meta: optional(3, StepMeta),
});

/** The empty answers. */
export const EmitRequestResponse: Message<object> = message("EmitRequestResponse", {});
export const EmitResponseResponse: Message<object> = message("EmitResponseResponse", {});
