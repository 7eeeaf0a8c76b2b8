import { ApiError } from "@xfn/kubernetes";
import { PipelineError, type PipelineErrorCode } from "@xfn/pipeline";
import { SelectionError, type SelectionErrorCode } from "../revision/selection-error.ts";

/** Why a composite resource is not composed. It becomes the reason of its `Synced` condition. */
export type CompositeErrorCode =
  /** A function returned a fatal result. */
  | "FatalResult"
  /** The Composition has functions, and they are off. */
  | "FunctionsDisabled"
  /** The Composition selects an environment. */
  | "EnvironmentUnsupported"
  /** The API server does not serve the kind of a composed resource. */
  | "KindNotServed"
  /** A composed resource cannot exist as it is desired. */
  | "InvalidResource"
  /** An object that a composed resource, or the connection secret, is to be belongs to somebody else. */
  | "NotControllable"
  /** RBAC, a quota or admission refuses. */
  | "Forbidden"
  /** The pull secrets of a function may not be read, or cannot be. */
  | "PullSecret"
  /** The API server cannot do it now, or cannot at all; the message has its words. */
  | "ApiServer";

/**
 * A composite resource that cannot be composed as things are. The message names what is wrong and holds no value of a Secret:
 * it is shown in conditions, events and logs.
 */
export class CompositeError extends Error {
  override readonly name = "CompositeError";
  readonly code: CompositeErrorCode;

  constructor(code: CompositeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Several failures as one: the first says why, all say what. */
export function together(failures: readonly CompositeError[]): CompositeError {
  const [first, ...more] = failures;
  if (first !== undefined && more.length === 0) return first;
  return new CompositeError(first?.code ?? "ApiServer", failures.map(({ message }) => message).join("; "));
}

/** What a condition and an event say of a failure. */
export interface Failure {
  readonly reason: CompositeErrorCode | PipelineErrorCode | SelectionErrorCode | "InternalError";
  readonly message: string;
}

/** A failure in words for users. */
export function explain(error: unknown): Failure {
  // Of ours, which a step failed for, and which names the step.
  if (error instanceof PipelineError && error.cause instanceof CompositeError) return explain(error.cause);
  if (error instanceof CompositeError || error instanceof SelectionError || error instanceof PipelineError) {
    return { reason: error.code, message: error.message };
  }
  if (error instanceof ApiError) return { reason: apiReason(error), message: error.message };
  // Of what nobody foresaw nothing is known, not even whether its message quotes a value.
  return { reason: "InternalError", message: `an error in the controller (${nameOf(error)}); its log has more` };
}

/**
 * A refusal of the API server, about one object.
 *
 * @param doing such as `cannot apply composed resource "bucket" (Bucket a)`
 * @param secret the object holds secrets: a server may quote the value that it refuses, so its words are left out
 */
export function refused(error: unknown, doing: string, secret: boolean): CompositeError {
  if (error instanceof CompositeError) return error;
  if (!(error instanceof ApiError)) throw error;
  const words = secret ? (error.reason ?? error.code) : error.message;
  // What a server quotes stays out of the log as well.
  return new CompositeError(apiReason(error), `${doing}: ${words}`, secret ? undefined : { cause: error });
}

function apiReason({ code }: ApiError): CompositeErrorCode {
  switch (code) {
    case "Forbidden":
    case "Unauthorized":
      return "Forbidden";
    case "KindNotServed":
      return "KindNotServed";
    case "Invalid":
      return "InvalidResource";
    default:
      return "ApiServer";
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
