import { DocumentError } from "@xfn/json";

/** A text or value that is not a FunctionIO, or not a ResourceList. */
export class FunctionIOError extends DocumentError {
  override readonly name: string = "FunctionIOError";

  /** Converts a DocumentError. */
  static from(error: DocumentError): FunctionIOError {
    if (error instanceof FunctionIOError) return error;
    return new FunctionIOError(error.code, error.issues, error.source, { cause: error });
  }
}
