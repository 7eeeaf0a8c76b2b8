import { messageOf } from "@xfn/errors";
import type { StepRecord } from "@xfn/pipeline";
import type { Trace } from "@xfn/pipeline/trace";
import { oneLine } from "@xfn/program/terminal-text";
import { functionStderr } from "../terminal/function-stderr.ts";
import type { Output } from "../terminal/output.ts";
import type { RenderInputs } from "./render-inputs.ts";
import type { TraceOptions } from "./render-options.ts";

// A developer who asks for it wants more than the end.
const MAX_STDERR_LINES = 200;

/**
 * Runs a render, and writes its trace and what its functions wrote to stderr. A run that fails is traced up to the
 * failure. If neither is requested, it records nothing, and loads no code for traces.
 *
 * @throws the error of `run`, else CliError if the trace cannot be written
 */
export async function withTrace<T>(
  inputs: RenderInputs,
  options: TraceOptions,
  output: Output,
  run: (onRecord: ((record: StepRecord) => void) | undefined) => Promise<T>,
): Promise<T> {
  const { trace: form, traceFile: file, notSecret: publicNames = [], watch = false } = options;
  const shows = options.functionStderr === true || watch;
  if (form === undefined && !shows) return run(undefined);
  const records: StepRecord[] = [];
  const write = async (): Promise<void> => {
    const { buildTrace } = await import("@xfn/pipeline/trace");
    const trace = buildTrace({ ...inputs, records, publicNames });
    // A text on the terminal shows it already.
    if (shows && (form !== "text" || file !== undefined)) printStderr(trace, output);
    if (form === undefined) return;
    const { writeTrace } = await import("./write-trace.ts");
    await writeTrace(form, trace, { output, file });
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

function printStderr({ steps }: Trace, output: Output): void {
  for (const { name, status, stderr = "" } of steps) {
    // The message of a failure has it.
    if (status === "Failed" || status === "Fatal") continue;
    const whose = `step "${oneLine(name, 100)}": the function's`;
    for (const line of functionStderr(stderr, whose, MAX_STDERR_LINES)) output.note(line);
  }
}
