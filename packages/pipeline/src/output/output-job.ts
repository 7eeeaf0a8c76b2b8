import { messageOf } from "@xfn/errors";
import {
  type FunctionIO,
  FunctionIOError,
  type OutputLimits,
  parseFunctionIO,
  parseResourceList,
  type ResourceList,
} from "@xfn/functionio";
import type { DocumentErrorCode, Issue } from "@xfn/json";
import type { JobOutcome } from "@xfn/oci-rootfs/threads";
import { cut, type Piece } from "./pieces.ts";

/** The output of a function, to read on a worker. */
export interface OutputJob {
  readonly bytes: Uint8Array;
  readonly source: string;
  readonly limits: OutputLimits;
  readonly form: OutputForm;
}

/** The kind of document that a function returns. */
export type OutputForm = "FunctionIO" | "ResourceList";

/** An error of {@link cutOutput} as data that can be sent to another thread. */
export interface SentOutputError {
  /** Undefined for an error that is not about the output. */
  readonly code: DocumentErrorCode | undefined;
  readonly message: string;
  readonly issues: readonly Issue[];
}

/** The outcome of a job on a worker. */
export type OutputOutcome = JobOutcome<Piece[], SentOutputError>;

/** Reads an output on this thread. @throws {FunctionIOError} */
export function parseOutput({ bytes, source, limits, form }: OutputJob): FunctionIO | ResourceList {
  return form === "ResourceList"
    ? parseResourceList(bytes, { source, limits, isOutput: true })
    : parseFunctionIO(bytes, { source, limits, isOutput: true });
}

/** Reads an output and cuts the document, so that the thread which gets it can do other work in between. */
export function cutOutput(job: OutputJob): Piece[] {
  return cut(parseOutput(job));
}

export function sendError(error: unknown): SentOutputError {
  if (error instanceof FunctionIOError) return { code: error.code, message: error.message, issues: error.issues };
  return { code: undefined, message: messageOf(error), issues: [] };
}

export function receiveError({ code, message, issues }: SentOutputError, source: string): Error {
  return code === undefined ? new Error(message) : new FunctionIOError(code, issues, source);
}
