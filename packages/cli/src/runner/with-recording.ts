import { messageOf } from "@xfn/errors";
import type { PipelineInput } from "@xfn/pipeline";
import type { Callers, Recording } from "@xfn/pipeline/recording";
import { oneLine } from "@xfn/program/terminal-text";
import { CliError, usageError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";

/** The requested recording. */
export interface RecordOptions {
  /** `--record`: a folder. Absent: no recording. */
  readonly record?: string | undefined;
  /** Names whose values the recording has although the rules would mask them. */
  readonly notSecret?: readonly string[];
}

/** The XR is recorded, and the name of the Composition. */
export interface RecordedInputs {
  readonly composite?: PipelineInput["composite"];
  readonly composition?: PipelineInput["composition"];
}

/**
 * Runs functions and writes what they received and returned. A run that fails is recorded up to the failure. Without
 * `--record`, it loads no code for recordings.
 *
 * @throws the error of `run`, else CliError if the recording cannot be written
 */
export async function withRecording<T, C extends Callers>(
  { composite, composition }: RecordedInputs,
  { record: folder, notSecret: publicNames = [] }: RecordOptions,
  output: Output,
  callers: C,
  run: (callers: C) => Promise<T>,
): Promise<T> {
  if (folder === undefined) return await run(callers);
  const { checkTarget, RunRecorder, writeRecording } = await import("@xfn/pipeline/recording");
  try {
    checkTarget(folder);
  } catch (cause) {
    throw usageError(`--record ${oneLine(folder, 300)} cannot be used: ${messageOf(cause)}`);
  }
  const recorder = new RunRecorder();
  const write = (error?: unknown): void => {
    const name = composition?.metadata.name;
    const recording = recorder.finish({ ...(composite && { composite }), composition: name, error, publicNames });
    writeRecording(folder, recording);
    output.note(`xfn: recording written to ${oneLine(folder, 300)} (${stepsOf(recording)})`);
  };
  let result: T;
  try {
    result = await run(recorder.callers(callers));
  } catch (error) {
    try {
      write(error);
    } catch (problem) {
      output.note(`xfn: ${oneLine(messageOf(problem))}`);
    }
    throw error;
  }
  try {
    write();
  } catch (cause) {
    throw new CliError("Failed", messageOf(cause), { cause });
  }
  return result;
}

function stepsOf({ steps }: Recording): string {
  if (steps.length === 0) return "no step called a function";
  return steps.length === 1 ? "1 step" : `${steps.length} steps`;
}
