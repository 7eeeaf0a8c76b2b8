import { CodedError } from "@xfn/errors";
/**
 * - `Cycle`: packages depend on each other
 * - `Missing`: the registry has no version that a package wants, or the dependency is not installed yet
 * - `Conflict`: packages want versions that exclude each other, or the installed one
 * - `Invalid`: a constraint cannot be read, or what is installed has no version
 */
export type DependencyErrorCode = "Cycle" | "Missing" | "Conflict" | "Invalid";

/** The parts of a {@link DependencyError}. */
export interface DependencyErrorParts {
  /** The package that cannot be resolved: registry and repository. */
  readonly package: string;
  /** Advice to the user. */
  readonly remedy: string;
  /** The sources of the involved packages. Those of a cycle are in its order. */
  readonly packages: readonly string[];
}

/** The dependencies of packages cannot be resolved. */
export class DependencyError extends CodedError<DependencyErrorCode> {
  override readonly name = "DependencyError";
  /** Registries get new versions. The other problems need a change of a package. */
  override readonly retryable: boolean = this.code === "Missing";
  readonly package: string;
  readonly remedy: string;
  readonly packages: readonly string[];

  constructor(code: DependencyErrorCode, problem: string, parts: DependencyErrorParts, options?: ErrorOptions) {
    super(code, `${problem}; ${parts.remedy}`, options);
    this.package = parts.package;
    this.remedy = parts.remedy;
    this.packages = parts.packages;
  }
}
