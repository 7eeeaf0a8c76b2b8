import { outputLimits } from "@xfn/functionio";
import { decodeResponse } from "../message/decode-response.ts";
import { encodeRequest } from "../message/encode-request.ts";
import type { FunctionRequest, FunctionResponse } from "../message/function-message.ts";
import { METHOD_V1, METHOD_V1BETA1 } from "../message/methods.ts";
import { type CallOptions, type FunctionRunOptions, MAX_RESPONSE_BYTES } from "./call-options.ts";
import { UNIMPLEMENTED } from "./status.ts";

/** Makes unary gRPC calls: a {@link FunctionConnection}, or the client of a runner that serves the function. */
export interface UnaryCaller {
  call(path: string, message: Uint8Array, options: CallOptions): Promise<Uint8Array>;
}

/** Runs one function: a {@link FunctionClient}, or a handler in a test. */
export interface FunctionCaller {
  /** Identifies the code of the function, so that responses of another version are not reused. */
  readonly version?: string | undefined;
  run(request: FunctionRequest, options: FunctionRunOptions): Promise<FunctionRun>;
}

/** A response, and the fields of its request that a Struct could not represent exactly. */
export interface FunctionRun {
  readonly response: FunctionResponse;
  readonly requestBytes: number;
  readonly responseBytes: number;
  /** Fields of the request with integers beyond 2^53, which the function received rounded. */
  readonly rounded: readonly string[];
  /** Whether the response comes from an earlier call. */
  readonly isCached?: boolean;
}

/** Runs one function over one connection. */
export class FunctionClient implements FunctionCaller {
  readonly version: string | undefined;
  readonly #caller: UnaryCaller;
  #method = METHOD_V1;

  /** @param version the version of the function: see {@link FunctionCaller} */
  constructor(caller: UnaryCaller, version?: string) {
    this.#caller = caller;
    this.version = version;
  }

  /**
   * Runs the function once.
   *
   * @throws {FunctionCallError}
   * @throws {StructError} for a request that a Struct cannot hold
   */
  async run(request: FunctionRequest, { responses, ...options }: FunctionRunOptions): Promise<FunctionRun> {
    const { bytes, tag, rounded } = encodeRequest(request);
    const run = { rounded, requestBytes: bytes.length };
    const limits = outputLimits(options.maxResponseBytes ?? MAX_RESPONSE_BYTES);
    const known = responses?.get(tag);
    if (known !== undefined) {
      const response = { ...(await decodeResponse(known.bytes, limits)), ttlMs: known.leftMs };
      return { ...run, response, responseBytes: known.bytes.length, isCached: true };
    }
    const answer = await this.#call(bytes, options);
    const response = await decodeResponse(answer, limits);
    const { ttlMs, results } = response;
    const isFatal = results.some(({ severity }) => severity === "Fatal");
    if (ttlMs !== undefined && !isFatal) responses?.set(tag, answer, ttlMs);
    return { ...run, response, responseBytes: answer.length };
  }

  async #call(bytes: Uint8Array, options: CallOptions): Promise<Uint8Array> {
    const method = this.#method;
    try {
      return await this.#caller.call(method, bytes, options);
    } catch (error) {
      // Functions of Crossplane 1.14 to 1.16 serve only the older method.
      if (method !== METHOD_V1 || !isUnimplemented(error)) throw error;
      this.#method = METHOD_V1BETA1;
      return await this.#caller.call(METHOD_V1BETA1, bytes, options);
    }
  }
}

/** The status is a number, or in errors of a runner its gRPC name. */
function isUnimplemented(error: unknown): boolean {
  return (
    error instanceof Error && "status" in error && [UNIMPLEMENTED, "UNIMPLEMENTED"].includes(error.status as string)
  );
}
