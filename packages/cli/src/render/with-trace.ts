import type { StepRecord } from "@xfn/pipeline";
import { oneLine } from "@xfn/program/terminal-text";
import { messageOf } from "../errors/message-of.ts";
import type { Output } from "../terminal/output.ts";
import type { RenderInputs } from "./render-inputs.ts";
import type { TraceOptions } from "./render-options.ts";

/**
 * Runs a render and writes its trace. A run that fails is traced up to the failure. Without `--trace` it records
 * nothing, and loads no code for traces.
 *
 * @throws the error of `run`, else CliError if the trace cannot be written
 */
export async function withTrace<T>(
  inputs: RenderInputs,
  options: TraceOptions,
  output: Output,
  run: (onRecord: ((record: StepRecord) => void) | undefined) => Promise<T>,
): Promise<T> {
  const { trace: form, traceFile: file, notSecret: publicNames = [] } = options;
  if (form === undefined) return run(undefined);
  const records: StepRecord[] = [];
  const write = async (): Promise<void> => {
    const [{ buildTrace }, { writeTrace }] = await Promise.all([
      import("@xfn/pipeline/trace"),
      import("./write-trace.ts"),
    ]);
    await writeTrace(form, buildTrace({ ...inputs, records, publicNames }), { output, file });
  };
  let result: T;
  try {
    result = await run((record) => records.push(record));
  } catch (error) {
    if (records.length > 0) {
      await write().catch((problem: unknown) => {
        output.note(`xfn: ${oneLine(messageOf(problem))}`);
      });
    }
    throw error;
  }
  await write();
  return result;
}
