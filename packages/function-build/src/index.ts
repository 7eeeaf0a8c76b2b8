// @xfn/function-build: images of functions, and Crossplane packages.
export {
  type BuildFunctionOptions,
  type BuiltFunction,
  buildFunction,
  type FunctionTarget,
} from "./image/build-function.ts";
export { type BuildPackageOptions, type BuiltPackage, buildPackage } from "./xpkg/build-package.ts";
export { archivePlatform, readPackageArchive } from "./xpkg/package-archive.ts";
