import type { FunctionRequest, FunctionRun } from "@xfn/function-grpc";
import type { StepType } from "./recording.ts";

/** The calls of one step, with their secrets. */
export interface RawStep {
  readonly name: string;
  readonly type: StepType;
  readonly calls: RawCall[];
}

/** One call of a function. The output is absent if the call failed or has not ended. */
export interface RawCall {
  readonly input: Uint8Array | FunctionRequest;
  output?: Uint8Array | FunctionRun;
  error?: unknown;
}
