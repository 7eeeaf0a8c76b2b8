import { CodedError } from "@xfn/errors";
/**
 * - `NoPackageFile`: the image has no `package.yaml`, so it is not a package
 * - `SeveralPackageFiles`: two layers are annotated as the one with `package.yaml`
 * - `NotYaml`: `package.yaml` cannot be read
 * - `TooLarge`: more bytes, documents or objects than a package may have
 * - `NoMetadata`, `SeveralMetadata`: not exactly one object of `meta.pkg.crossplane.io`
 * - `UnknownKind`: the metadata has another kind or version than Crossplane's
 * - `WrongKind`: a package of another kind than was asked for
 * - `InvalidMetadata`: a field of the metadata has a wrong value
 * - `ForbiddenObject`: an object that a package of this kind cannot contain
 * - `InvalidObject`: an object without a name
 * - `DuplicateObject`: two objects have the same kind and name
 * - `Incompatible`: the package excludes this version of Crossplane's API
 */
export type PackageErrorCode =
  | "NoPackageFile"
  | "SeveralPackageFiles"
  | "NotYaml"
  | "TooLarge"
  | "NoMetadata"
  | "SeveralMetadata"
  | "UnknownKind"
  | "WrongKind"
  | "InvalidMetadata"
  | "ForbiddenObject"
  | "InvalidObject"
  | "DuplicateObject"
  | "Incompatible";

/** The parts of a {@link PackageError}. */
export interface PackageErrorParts {
  /** The package as the caller names it: a reference or a file. */
  readonly package: string;
  /** The field at fault, such as `spec.dependsOn[2].version`. */
  readonly field?: string | undefined;
  /** Advice to the user. */
  readonly remedy: string;
  /** One line for each fault, if there are several. */
  readonly details?: readonly string[] | undefined;
  readonly cause?: unknown;
}

/** A package whose content is wrong. The same content fails again. */
export class PackageError extends CodedError<PackageErrorCode> {
  override readonly name = "PackageError";
  readonly package: string;
  readonly field: string | undefined;
  readonly remedy: string;
  readonly details: readonly string[];

  constructor(code: PackageErrorCode, problem: string, parts: PackageErrorParts) {
    const { package: name, field, remedy, details = [], cause } = parts;
    super(code, `package ${name}: ${field === undefined ? "" : `${field} `}${problem}; ${remedy}`, { cause });
    this.package = name;
    this.field = field;
    this.remedy = remedy;
    this.details = details;
  }
}
