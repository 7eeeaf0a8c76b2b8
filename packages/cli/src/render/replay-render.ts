import { messageOf } from "@xfn/errors";
import { InputError, sourceName } from "@xfn/input";
import { type RecordingError, Replay, readRecording } from "@xfn/pipeline/recording";
import { CliError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";
import { warning } from "../terminal/warning.ts";
import { readInputs } from "./render-inputs.ts";
import type { RenderFiles, RenderOptions } from "./render-options.ts";
import { type Rendered, renderWithTimeout } from "./render-with-timeout.ts";
import { withTrace } from "./with-trace.ts";

/**
 * Renders with the recorded outputs of functions: starts no container, and connects to nothing.
 *
 * @throws InputError if the folder is not a recording
 * @throws CliError `Failed` for another input than the recorded one, unless `--ignore-differences` is set
 */
export async function replayRender(
  files: RenderFiles,
  options: RenderOptions & { readonly replay: string },
  output: Output,
  interrupt: AbortSignal,
): Promise<Rendered> {
  const { replay: folder, ignoreDifferences = false, notSecret: publicNames } = options;
  const inputs = await readInputs(files, options, (message) => output.note(warning(message)));
  const differences: RecordingError[] = [];
  const onDifference = ignoreDifferences ? (error: RecordingError): void => void differences.push(error) : undefined;
  const replay = new Replay(recordingAt(folder), { publicNames, onDifference });
  const { runner, webhooks, functions, credentials } = replay.callers(
    inputs.composition,
    inputs.pipeline?.credentials ?? inputs.credentials,
  );
  const connections = { ...functions, stderrOf: () => undefined };
  const pipeline = inputs.pipeline && { pipeline: { ...inputs.pipeline, credentials } };
  try {
    const rendered = await replay.run(() =>
      withTrace(inputs, options, output, (onRecord) =>
        renderWithTimeout(
          { ...inputs, credentials, ...pipeline, ...(onRecord && { onRecord }), connections, webhooks },
          options,
          runner,
          interrupt,
        ),
      ),
    );
    const notes = differences.flatMap(({ message }) => warning(message).split("\n"));
    return { ...rendered, notes: [...notes, ...rendered.notes] };
  } catch (cause) {
    if (!isRecordingError(cause)) throw cause;
    const [message = "", ...details] = messageOf(cause).split("\n");
    const hint = cause.code === "InputDiffers" ? ["--ignore-differences renders with the recorded output"] : [];
    throw new CliError("Failed", message, { details: [...details, ...hint], cause });
  }
}

function recordingAt(folder: string): ReturnType<typeof readRecording> {
  try {
    return readRecording(folder);
  } catch (cause) {
    if (!isRecordingError(cause)) throw cause;
    throw new InputError(`${sourceName(folder)} cannot be replayed: ${cause.message}`, { cause });
  }
}

/** By name, because a program and its bundle may each load a copy of the class. */
function isRecordingError(error: unknown): error is RecordingError {
  return error instanceof Error && error.name === "RecordingError";
}
