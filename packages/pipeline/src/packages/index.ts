// Packages of functions: `Function` documents that describe them, and connections to their servers.
export {
  duplicateName,
  type FunctionPackage,
  RUNTIME_ANNOTATION,
  readFunctionDocument,
} from "./function-document.ts";
export { FunctionPackageError, type FunctionPackageErrorCode } from "./function-package-error.ts";
export { type OpenFunction, openRunning, openServed } from "./open-function.ts";
