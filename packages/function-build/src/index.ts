// @xfn/function-build: images of functions, and Crossplane packages.
export { HOST_BASES } from "./base/host-base.ts";
export { buildFunction } from "./image/build-function.ts";
export type { BuildFunctionOptions, BuiltFunction, FunctionTarget } from "./image/build-options.ts";
export { type BuildPackageOptions, type BuiltPackage, buildPackage } from "./xpkg/build-package.ts";
export { archivePlatform, readPackageArchive } from "./xpkg/package-archive.ts";
