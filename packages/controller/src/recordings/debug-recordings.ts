import { join } from "node:path";
import { messageOf } from "@xfn/errors";
import { type Callers, RunRecorder, writeRecording } from "@xfn/pipeline/recording";
import type { RunRecordings } from "../objects/context.ts";
import { ANNOTATION_RECORD } from "../objects/labels.ts";
import type { Logger } from "../objects/logger.ts";
import { prune, type RecordingLimits } from "./prune.ts";

/** Enough to compare a failure with the runs before it, on a small volume. */
const RECORDING_LIMITS: RecordingLimits = {
  perComposite: { count: 10, bytes: 64 * 1024 * 1024 },
  total: { count: 500, bytes: 256 * 1024 * 1024 },
};

/** The inputs and outputs of one run in memory: a small part of what the controller may have in deploy/. */
const MAX_RUN_BYTES = 32 * 1024 * 1024;

const MAX_NAME = 80;

/** Options of {@link debugRecordings}. */
export interface DebugRecordingsOptions {
  /** The folder of `--debug-recordings`. */
  readonly folder: string;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Default: {@link RECORDING_LIMITS}. */
  readonly limits?: RecordingLimits;
}

/**
 * Records the runs of XRs with the annotation {@link ANNOTATION_RECORD}, the oldest of which are removed. A recording
 * that cannot be written is logged: it must not keep an XR from being composed.
 */
export function debugRecordings({
  folder,
  log,
  now,
  limits = RECORDING_LIMITS,
}: DebugRecordingsOptions): RunRecordings {
  let runs = 0;
  return {
    wants: ({ metadata }) => metadata.annotations?.[ANNOTATION_RECORD] === "true",
    async record<T>(
      { xr, composition }: Parameters<RunRecordings["record"]>[0],
      callers: Callers,
      run: (callers: Callers) => Promise<T>,
    ): Promise<T> {
      const recorder = new RunRecorder(MAX_RUN_BYTES);
      const write = (error?: unknown): void => {
        const { kind, metadata } = xr;
        const title = [kind, metadata.namespace ?? "", metadata.name].join("-");
        const time = new Date(now()).toISOString();
        runs += 1;
        const path = join(folder, `${named(title)}-${named(metadata.uid)}`, `${named(time)}-${runs}`);
        try {
          writeRecording(path, recorder.finish({ composite: xr, composition, error }));
          prune(folder, limits);
          log.debug({ composite: metadata.name, recording: path }, "recorded a run");
        } catch (problem) {
          const reason = messageOf(problem);
          log.warn({ composite: metadata.name, reason }, "cannot record a run");
        }
      };
      let result: T;
      try {
        result = await run(recorder.callers(callers));
      } catch (error) {
        write(error);
        throw error;
      }
      write();
      return result;
    },
  };
}

/** A part of a file's name. */
function named(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]{1,100}/g, "-")
    .slice(0, MAX_NAME);
}
