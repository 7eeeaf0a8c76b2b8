import type { PipelineErrorCode } from "../outcome/pipeline-error.ts";

/** Why a worker could not read an output. */
export interface ReadFailure {
  readonly code: PipelineErrorCode;
  readonly problem: string;
  readonly retryable: boolean;
}

/** The failure of a step whose output a worker thread could not read. Undefined for another error. */
export function readFailure(error: unknown): ReadFailure | undefined {
  // Compared by name: a run with small outputs does not load the class.
  if (!(error instanceof Error) || error.name !== "ThreadError" || !("code" in error)) return undefined;
  if (error.code === "OutOfMemory") {
    const problem = "reading its output on stdout takes too much memory; it must write fewer fields";
    return { code: "InvalidOutput", problem, retryable: false };
  }
  const retryable = "retryable" in error && error.retryable === true;
  return { code: "RunFailed", problem: `its output on stdout could not be read: ${error.message}`, retryable };
}
