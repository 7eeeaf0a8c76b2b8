import { CodedError } from "@xfn/errors";
/**
 * - `InvalidFunction`: a document is not a usable `Function`
 * - `Unreachable`: the server of a `Function` with the runtime Development does not answer
 */
export type FunctionPackageErrorCode = "InvalidFunction" | "Unreachable";

/** The package of a function cannot be used. */
export class FunctionPackageError extends CodedError<FunctionPackageErrorCode> {
  override readonly name = "FunctionPackageError";
  override readonly retryable: boolean = this.code === "Unreachable";
}
