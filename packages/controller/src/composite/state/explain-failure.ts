import { ApiError } from "@xfn/kubernetes";
import { PipelineError, type PipelineErrorCode } from "@xfn/pipeline";
import { CompositeError, type CompositeErrorCode, compositeErrorCode } from "../../objects/composite-error.ts";
import { SelectionError, type SelectionErrorCode } from "../../revision/selection-error.ts";

/** The reason and the message of a failure, in a condition and in an event. */
export interface Failure {
  readonly reason: CompositeErrorCode | PipelineErrorCode | SelectionErrorCode | "InternalError";
  readonly message: string;
}

export function explainFailure(error: unknown): Failure {
  // The controller caused the step's failure, such as with its pull secret. The cause has the more precise code.
  if (error instanceof PipelineError && error.cause instanceof CompositeError)
    return { reason: error.cause.code, message: error.message };
  if (error instanceof CompositeError || error instanceof SelectionError || error instanceof PipelineError) {
    return { reason: error.code, message: error.message };
  }
  if (error instanceof ApiError) return { reason: compositeErrorCode(error), message: error.message };
  // The message of an unexpected error may quote a value of a Secret, so it goes only to the log.
  const name = error instanceof Error ? error.name : typeof error;
  return { reason: "InternalError", message: `an error in the controller (${name}); its log has the details` };
}
