import { FunctionCallError } from "../errors/function-call-error.ts";
import { decodeResponse } from "../message/decode-response.ts";
import { encodeRequest } from "../message/encode-request.ts";
import type { FunctionRequest, FunctionResponse } from "../message/function-message.ts";
import type { CallOptions } from "./call-options.ts";
import { UNIMPLEMENTED } from "./status.ts";

const METHOD_V1 = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
/** Functions built for Crossplane 1.14 to 1.16 serve only this one. Its messages have the same wire form. */
const METHOD_V1BETA1 = "/apiextensions.fn.proto.v1beta1.FunctionRunnerService/RunFunction";

/** Something that makes unary gRPC calls: a {@link FunctionConnection}. */
export interface UnaryCaller {
  call(path: string, message: Uint8Array, options: CallOptions): Promise<Uint8Array>;
}

/** A response, and what a Struct could not hold of its request. */
export interface FunctionRun {
  readonly response: FunctionResponse;
  /** Fields of the request with integers beyond 2^53, which the function received rounded. */
  readonly rounded: readonly string[];
}

/** Runs one function over one connection. */
export class FunctionClient {
  readonly #caller: UnaryCaller;
  #method = METHOD_V1;

  constructor(caller: UnaryCaller) {
    this.#caller = caller;
  }

  /**
   * Runs the function once.
   *
   * @throws {FunctionCallError}
   * @throws {StructError} for a request that a Struct cannot hold
   */
  async run(request: FunctionRequest, options: CallOptions): Promise<FunctionRun> {
    const { bytes, rounded } = encodeRequest(request);
    return { response: decodeResponse(await this.#call(bytes, options)), rounded };
  }

  async #call(bytes: Uint8Array, options: CallOptions): Promise<Uint8Array> {
    const method = this.#method;
    try {
      return await this.#caller.call(method, bytes, options);
    } catch (error) {
      const older = error instanceof FunctionCallError && error.status === UNIMPLEMENTED && method === METHOD_V1;
      if (!older) throw error;
      this.#method = METHOD_V1BETA1;
      return await this.#caller.call(METHOD_V1BETA1, bytes, options);
    }
  }
}
