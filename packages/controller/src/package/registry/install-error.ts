import { CodedError } from "@xfn/errors";
import { isApiError } from "@xfn/kubernetes";

/** Why a package cannot be installed. */
export type PackageInstallErrorCode =
  /** The registry does not have the package, denies access, or does not answer. */
  | "Unavailable"
  /** It is not a valid package, or a package of another kind, or for another version of Crossplane. */
  | "InvalidPackage"
  /** An ImageConfig requires a signature that the package does not have. */
  | "Unverified"
  /** Another owner controls its revision or one of its objects. */
  | "NameTaken"
  /** The API server rejects an object of the package. */
  | "NotEstablished"
  /** The API server refuses a request of the controller, such as the read of a pull secret. */
  | "Refused"
  /** No runner can serve the package's function. */
  | "NoRuntime";

/** A package that cannot be installed. The message names the package, the field and the way out. */
export class PackageInstallError extends CodedError<PackageInstallErrorCode> {
  override readonly name = "PackageInstallError";

  constructor(
    code: PackageInstallErrorCode,
    message: string,
    options: ErrorOptions & { readonly retryable?: boolean } = {},
  ) {
    super(code, message, options);
  }
}

/**
 * The error as the reason of a condition. Undefined for a transient error, such as a conflict, or an error that no user
 * can correct.
 */
export function asInstallError(error: unknown): PackageInstallError | undefined {
  if (error instanceof PackageInstallError) return error;
  if (!isApiError(error, "Forbidden", "Invalid")) return undefined;
  const wayOut = isApiError(error, "Forbidden")
    ? "; extend the controller's role, or ask the owner of the quota or the policy that refuses it"
    : "";
  const options = { cause: error, retryable: true };
  return new PackageInstallError("Refused", `the API server refuses a request: ${error.message}${wayOut}`, options);
}
