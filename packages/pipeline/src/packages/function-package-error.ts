/**
 * - `InvalidFunction`: a document is not a usable `Function`
 * - `Unreachable`: the server of a `Function` with the runtime Development does not answer
 */
export type FunctionPackageErrorCode = "InvalidFunction" | "Unreachable";

/** The package of a function cannot be used. */
export class FunctionPackageError extends Error {
  override readonly name = "FunctionPackageError";
  readonly code: FunctionPackageErrorCode;
  readonly retryable: boolean;

  constructor(code: FunctionPackageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = code === "Unreachable";
  }
}
