import { CodedError } from "@xfn/errors";
/**
 * - `NotARecording`: the folder has no recording, or has other files, which a new recording would replace
 * - `Unreadable`: a file is missing, is not a regular file, or cannot be read
 * - `Invalid`: a file is cut off, or its content is not that of a recording
 * - `UnsupportedVersion`: another version of xfn made the recording
 * - `TooLarge`: a file or a run is larger than a recording can be
 * - `WriteFailed`: the files cannot be written
 * - `StepMismatch`: a recorded step does not run, one that runs was not recorded, or the number of calls differs
 * - `InputDiffers`: a step gets another input than the recorded one
 * - `RecordedFailure`: the function failed when it was recorded, so there is no output
 */
export type RecordingErrorCode =
  | "NotARecording"
  | "Unreadable"
  | "Invalid"
  | "UnsupportedVersion"
  | "TooLarge"
  | "WriteFailed"
  | "StepMismatch"
  | "InputDiffers"
  | "RecordedFailure";

/** Details of a {@link RecordingError} in addition to its code and message. */
export interface RecordingErrorDetails {
  readonly step?: string | undefined;
  readonly differences?: readonly string[] | undefined;
  readonly cause?: unknown;
}

/** A recording that cannot be written, read or replayed. The message contains no value that the trace would hide. */
export class RecordingError extends CodedError<RecordingErrorCode> {
  override readonly name = "RecordingError";
  /** The step that it is about. */
  readonly step: string | undefined;
  /** The fields of an input that differ, one line each with the recorded and the new value. Empty for other codes. */
  readonly differences: readonly string[];

  constructor(code: RecordingErrorCode, message: string, details: RecordingErrorDetails = {}) {
    super(code, message, details);
    this.step = details.step;
    this.differences = details.differences ?? [];
  }
}
