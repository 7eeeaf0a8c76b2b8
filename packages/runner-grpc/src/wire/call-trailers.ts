import type { Metadata } from "@grpc/grpc-js";
import type { RunOptions, RunPhase } from "@xfn/runner-contract";
import { lastBytes } from "./bounded-text.ts";
import { MAX_STDERR_TRAILER_BYTES } from "./limits.ts";

/** The request header with the pipeline step, in UTF-8. */
export const STEP_KEY = "xfn-step-bin";

const PHASES_KEY = "xfn-phases";
const STDERR_KEY = "xfn-stderr-bin";

const PHASES: readonly RunPhase[] = ["pull", "start", "run"];

/** The report of a call in addition to its output. */
export interface CallReport {
  readonly phases: Map<RunPhase, number>;
  stderr: string;
}

/** Puts a report into a call's trailers. */
export function writeReport(report: CallReport, trailers: Metadata): void {
  const phases = [...report.phases].map(([phase, ms]) => `${phase}=${Number(ms.toFixed(3))}`);
  if (phases.length > 0) trailers.set(PHASES_KEY, phases.join(","));
  if (report.stderr !== "") trailers.set(STDERR_KEY, Buffer.from(lastBytes(report.stderr, MAX_STDERR_TRAILER_BYTES)));
}

/** Passes the report in a call's trailers to the caller. Missing or malformed trailers are not an error. */
export function readReport(trailers: Metadata, options: Pick<RunOptions, "onPhase" | "onStderr">): void {
  const text = trailers.get(PHASES_KEY)[0];
  if (typeof text === "string" && options.onPhase !== undefined) {
    const found = new Map(
      [...text.matchAll(/(?:^|,)([a-z]+)=(\d{1,12}(?:\.\d{1,6})?)(?=,|$)/g)].map((m) => [m[1], m[2]]),
    );
    for (const phase of PHASES) {
      const ms = found.get(phase);
      if (ms !== undefined) options.onPhase(phase, Number(ms));
    }
  }
  const stderr = trailers.get(STDERR_KEY)[0];
  if (Buffer.isBuffer(stderr) && stderr.length > 0) options.onStderr?.(stderr.toString("utf8"));
}
