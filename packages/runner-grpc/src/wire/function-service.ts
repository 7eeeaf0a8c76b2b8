import type { MethodDefinition } from "@grpc/grpc-js";
import { RUN_FUNCTION } from "./service-definition.ts";

/** The request header that names the package of the function to call. */
export const PACKAGE_KEY = "xfn-package";

/**
 * `RunFunction` of Crossplane's `FunctionRunnerService`, in both versions. The messages stay bytes, because a runner
 * only passes them on.
 */
export const FUNCTION_METHODS: readonly MethodDefinition<Uint8Array, Uint8Array>[] = ["v1", "v1beta1"].map(
  (version) => ({ ...RUN_FUNCTION, path: `/apiextensions.fn.proto.${version}.FunctionRunnerService/RunFunction` }),
);

/** The paths of all methods that run a function. */
export const RUN_PATHS: ReadonlySet<string> = new Set([RUN_FUNCTION, ...FUNCTION_METHODS].map(({ path }) => path));
