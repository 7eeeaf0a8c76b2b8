import type { FunctionRequest, FunctionRun } from "@xfn/function-grpc";
import type { StepType } from "./recording.ts";

/** What one step sent and received. */
export interface RawStep {
  readonly name: string;
  readonly type: StepType;
  readonly calls: RawCall[];
}

/** One call of a function. Absent output: it failed, or has not ended. */
export interface RawCall {
  readonly input: Uint8Array | FunctionRequest;
  output?: Uint8Array | FunctionRun;
  error?: unknown;
}
