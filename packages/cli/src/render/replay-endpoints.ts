import { messageOf } from "@xfn/errors";
import { InputError, sourceName } from "@xfn/input";
import { type RecordingError, Replay, readRecording } from "@xfn/pipeline/recording";
import { CliError } from "../errors/cli-error.ts";
import type { CallProgress } from "../runner/call-progress.ts";
import { warning } from "../terminal/warning.ts";
import type { RenderInputs } from "./render-inputs.ts";
import type { RenderOptions } from "./render-options.ts";
import type { Endpoints } from "./run-plan.ts";

/**
 * The recorded outputs of functions: starts no container, and connects to nothing.
 *
 * @param folder - the recording
 * @throws InputError if the folder is not a recording
 * @throws CliError `Failed` from `run`, for another input than the recorded one, unless `--ignore-differences` is set
 */
export function replayEndpoints(
  folder: string,
  { composition, pipeline, credentials: given }: RenderInputs,
  { ignoreDifferences = false, notSecret: publicNames }: RenderOptions,
  { begin }: CallProgress,
): Endpoints {
  const differences: RecordingError[] = [];
  const onDifference = ignoreDifferences ? (error: RecordingError): void => void differences.push(error) : undefined;
  const replay = new Replay(recordingAt(folder), { publicNames, onDifference });
  const { credentials, ...callers } = replay.callers(composition, pipeline?.credentials ?? given);
  return {
    callers,
    credentials,
    begin,
    stderrOf: () => undefined,
    async run(render) {
      try {
        const rendered = await replay.run(render);
        const notes = differences.flatMap(({ message }) => warning(message).split("\n"));
        return { ...rendered, notes: [...notes, ...rendered.notes] };
      } catch (cause) {
        if (!isRecordingError(cause)) throw cause;
        const [message = "", ...details] = messageOf(cause).split("\n");
        const hint = cause.code === "InputDiffers" ? ["--ignore-differences renders with the recorded output"] : [];
        throw new CliError("Failed", message, { details: [...details, ...hint], cause });
      }
    },
  };
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
