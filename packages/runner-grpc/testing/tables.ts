// All messages of the contract, and of the details of errors.
export * as details from "../src/wire/error-details.ts";
export {
  ImagePullAuth,
  ImagePullConfig,
  NetworkConfig,
  ResourceConfig,
  ResourceLimits,
  RunFunctionConfig,
  RunFunctionRequest,
  RunFunctionResponse,
} from "../src/wire/run-function.ts";
