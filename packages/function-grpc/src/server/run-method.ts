import type { FunctionIO } from "@xfn/functionio";
import type { PipelineResponse, PipelineRun } from "@xfn/functionio/sdk";
import { ServeError } from "../errors/serve-error.ts";
import { StructError } from "../errors/struct-error.ts";
import { decodeRequest } from "./decode-request.ts";
import { encodeResponse } from "./encode-response.ts";
import type { UnaryMethod } from "./served-call.ts";

/** A function of the SDK: the result of `compose`. */
export type ServedFunction = (io: FunctionIO, run: PipelineRun) => FunctionIO | Promise<FunctionIO>;

/** The method `RunFunction` of a function. */
export function runMethod(fn: ServedFunction): UnaryMethod {
  return async (message) => {
    const request = decodeRequest(message);
    let beside: PipelineResponse | undefined;
    const respond = (response: PipelineResponse): void => {
      beside = response;
    };
    const output = await fn(request.io, { ...request.beside, respond });
    try {
      return encodeResponse(request, output, beside);
    } catch (error) {
      const why = error instanceof StructError || error instanceof TypeError ? error.message : String(error);
      throw new ServeError("Internal", `the function's output has no form in gRPC: ${why}`, { cause: error });
    }
  };
}
