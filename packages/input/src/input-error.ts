import { CodedError } from "@xfn/errors";
/** A file, a folder or stdin that a person named cannot be used. A retry cannot help before the input changes. */
export class InputError extends CodedError<"Input"> {
  override readonly name = "InputError";
  /** Further lines, such as one `file:line:column: message` per fault in a file. */
  readonly details: readonly string[];

  constructor(message: string, options: { readonly details?: readonly string[]; readonly cause?: unknown } = {}) {
    super("Input", message, options);
    this.details = options.details ?? [];
  }
}

/** By name, because a program and its bundle may each load a copy of the class. */
export function isInputError(error: unknown): error is InputError {
  return error instanceof Error && error.name === "InputError";
}
