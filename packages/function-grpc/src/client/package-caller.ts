import { FunctionCallError } from "../errors/function-call-error.ts";
import type { CallOptions } from "./call-options.ts";
import type { UnaryCaller } from "./function-client.ts";

/** https://grpc.io/docs/guides/status-codes/ */
const UNIMPLEMENTED = 12;

/** Calls a function that a runner in another process serves. The errors have the name of a gRPC `status`. */
export type ForwardedCall = (path: string, message: Uint8Array, options: CallOptions) => Promise<Uint8Array>;

/** Calls a function package that a runner in another process serves. */
export class PackageCaller implements UnaryCaller {
  readonly #forward: ForwardedCall;

  constructor(forward: ForwardedCall) {
    this.#forward = forward;
  }

  async call(...call: Parameters<ForwardedCall>): Promise<Uint8Array> {
    try {
      return await this.#forward(...call);
    } catch (error) {
      // The client asks functions of Crossplane 1.14 to 1.16 again by the older method.
      if (!(error instanceof Error) || !("status" in error) || error.status !== "UNIMPLEMENTED") throw error;
      throw new FunctionCallError("Status", error.message, { status: UNIMPLEMENTED, cause: error });
    }
  }
}
