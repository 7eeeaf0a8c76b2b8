/** Why a package cannot be installed. */
export type PackageInstallErrorCode =
  /** The registry does not have the package, refuses it, or does not answer. */
  | "Unavailable"
  /** It is no package, one of another kind, or one for another version of Crossplane. */
  | "InvalidPackage"
  /** An ImageConfig requires a signature that the package does not have. */
  | "Unverified"
  /** Another owner controls its revision, or an object of it. */
  | "NameTaken"
  /** The API server refuses an object of the package. */
  | "NotEstablished"
  /** No runner can serve its function. */
  | "NoRuntime";

/** A package that cannot be installed. The message names the package, the field and the way out. */
export class PackageInstallError extends Error {
  override readonly name = "PackageInstallError";
  readonly code: PackageInstallErrorCode;
  /** Whether the same reconcile may succeed later without any change to the package. */
  readonly retryable: boolean;

  constructor(
    code: PackageInstallErrorCode,
    message: string,
    options: ErrorOptions & { readonly retryable?: boolean } = {},
  ) {
    super(message, options);
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
