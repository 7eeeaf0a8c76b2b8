import { RunnerError } from "@xfn/runner-contract";
import type { Ended } from "../protocol/frames.ts";

/** The messages of programs whose memory cannot grow: Go, Rust, C++, AssemblyScript. */
const OUT_OF_MEMORY = /out of memory|memory allocation of \d+ bytes failed|bad_alloc|cannot allocate/i;

/** A failed program whose memory fills this fraction of its limit is out of memory. */
const FULL = 0.9;

/** The facts, in addition to its end, that determine the error of a call. */
export interface EndedCall {
  readonly memoryBytes: number;
  readonly maxOutputBytes: number;
  readonly stderr: string;
}

/** The error of a call whose instance failed. */
export function failureOf(ended: Ended, { memoryBytes, maxOutputBytes, stderr }: EndedCall): RunnerError {
  if (ended.reason === "output-too-large") {
    const message = `it wrote more than ${maxOutputBytes / 1024 / 1024} MiB to stdout; the runner's operator can allow more`;
    return new RunnerError("OutputTooLarge", message, { phase: "output", stderr });
  }
  const { code, message = "it stopped" } = ended;
  const how = ended.reason === "exit" ? `it exited with code ${code}` : `it trapped: ${message}`;
  if (ended.memoryBytes >= FULL * memoryBytes || OUT_OF_MEMORY.test(message) || OUT_OF_MEMORY.test(stderr)) {
    const limit = `it used its limit of ${memoryBytes} bytes of memory; raise the limit if it needs more`;
    return new RunnerError("OutOfMemory", `${how}, and ${limit}`, { phase: "run", stderr, exitCode: code });
  }
  return new RunnerError("NonZeroExit", how, { phase: "run", stderr, exitCode: code });
}
