// Packages of functions: what a `Function` says of one, and connections to its server.
export {
  duplicateName,
  type FunctionPackage,
  RUNTIME_ANNOTATION,
  readFunctionDocument,
} from "./function-document.ts";
export { FunctionPackageError, type FunctionPackageErrorCode } from "./function-package-error.ts";
export { type OpenFunction, openRunning, openServed } from "./open-function.ts";
