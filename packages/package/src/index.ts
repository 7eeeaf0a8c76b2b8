// @xfn/package: reads Crossplane packages, and resolves their dependencies. It does not write to an API server.
export { checkPackage, MAX_OBJECTS, type PackageContents } from "./contents/check-package.ts";
export { CROSSPLANE_VERSION, checkCompatible } from "./contents/compatibility.ts";
export { faultLine, type PackageFault } from "./contents/fault.ts";
export { type ParsePackageOptions, parsePackage } from "./contents/parse-package.ts";
export {
  type PackageLocation,
  type PackageStream,
  type ReadPackage,
  readPackage,
  readPackageStream,
} from "./contents/read-package.ts";
export { versionTags } from "./dependencies/choose-version.ts";
export { type Dependency, packageSource } from "./dependencies/dependency.ts";
export { type DependencyStatus, dependencyStatus } from "./dependencies/dependency-status.ts";
export { type LockedPackage, lockEntry, readLock } from "./dependencies/lock.ts";
export {
  type Installation,
  type KnownPackages,
  type PackageObject,
  type Resolution,
  resolveDependencies,
  type VersionChanges,
} from "./dependencies/resolve.ts";
export { DependencyError, type DependencyErrorCode, type DependencyErrorParts } from "./errors/dependency-error.ts";
export { PackageError, type PackageErrorCode, type PackageErrorParts } from "./errors/package-error.ts";
export { SignatureError, type SignatureErrorCode } from "./errors/signature-error.ts";
export { dnsLabel, isPackageName, revisionName } from "./kind/names.ts";
export { META_GROUP, PACKAGE_GROUP, PACKAGE_KINDS, type PackageKind, packageKindOf } from "./kind/package-kind.ts";
export { BASE_LAYER, EXAMPLES_FILE, EXAMPLES_LAYER, layerLabel, STREAM_FILE, XPKG_KEY } from "./kind/xpkg-format.ts";
export { type Authority, predicateType, type Signer } from "./signature/authority.ts";
export { keySigner } from "./signature/key-signer.ts";
export { type KeylessTrust, keylessSigner, type SignerIdentity } from "./signature/keyless-signer.ts";
export type { SignedFile } from "./signature/signed-file.ts";
export { type SignatureCheck, verifySignature } from "./signature/verify-signature.ts";
export { type Constraint, parseConstraint } from "./version/constraint.ts";
export { isDigest, parseVersion, type Version } from "./version/version.ts";
