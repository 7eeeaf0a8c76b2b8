import type { StepRecord } from "@xfn/pipeline";
import { oneLine } from "@xfn/program/terminal-text";
import type { Output } from "../terminal/output.ts";
import type { RenderInputs } from "./render-inputs.ts";
import type { TraceForm } from "./write-trace.ts";

/** What is asked for: a form, and where it goes. */
export interface TraceOptions {
  /** Absent: no trace. */
  readonly trace?: TraceForm;
  /** `--trace-file`. Default: stderr; a page for a browser has a default of its own. */
  readonly traceFile?: string;
}

/**
 * Runs a render and writes its trace, also when the run failed: what was done until then is what one wants to see.
 * Without `--trace` nothing is recorded, and no code for traces is loaded.
 *
 * @throws what `run` throws; else CliError where the trace cannot be written
 */
export async function withTrace<T>(
  inputs: RenderInputs,
  options: TraceOptions,
  output: Output,
  run: (onRecord: ((record: StepRecord) => void) | undefined) => Promise<T>,
): Promise<T> {
  const { trace: form, traceFile: file } = options;
  if (form === undefined) return run(undefined);
  const records: StepRecord[] = [];
  const write = async (): Promise<void> => {
    const [{ buildTrace }, { writeTrace }] = await Promise.all([
      import("@xfn/pipeline/trace"),
      import("./write-trace.ts"),
    ]);
    await writeTrace(form, buildTrace({ ...inputs, records }), { output, file });
  };
  let result: T;
  try {
    result = await run((record) => records.push(record));
  } catch (error) {
    if (records.length > 0) {
      await write().catch((problem: unknown) => {
        output.note(`xfn: ${oneLine(problem instanceof Error ? problem.message : String(problem))}`);
      });
    }
    throw error;
  }
  await write();
  return result;
}
