// Recordings of runs in this process.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type RecordedRun,
  type Recording,
  RunRecorder,
  readRecording,
  writeRecording,
} from "../src/recording/index.ts";
import type { PipelineInput } from "../src/steps/pipeline-input.ts";
import { runPipeline } from "../src/steps/run-pipeline.ts";
import { bucket, changes } from "./fixtures.ts";

/** A recording, where it is, and all of its files as one text. */
export interface Recorded {
  readonly recording: Recording;
  readonly path: string;
  readonly text: string;
}

export function recordingsFolder(): {
  folder: string;
  newPath: () => string;
  record: (input: PipelineInput, run?: RecordedRun) => Promise<Recorded>;
  remove: () => void;
} {
  const folder = mkdtempSync(join(tmpdir(), "xfn-recording-test-"));
  let count = 0;
  const newPath = (): string => join(folder, String(++count));
  const record = async (input: PipelineInput, run: RecordedRun = {}): Promise<Recorded> => {
    const recorder = new RunRecorder();
    let error: unknown;
    await runPipeline(recorder.callers(input)).catch((cause: unknown) => (error = cause));
    const path = newPath();
    writeRecording(path, recorder.finish({ ...run, error }));
    const files = readdirSync(path).map((name) => readFileSync(join(path, name), "utf8"));
    return { recording: readRecording(path), path, text: files.join("\n") };
  };
  return { folder, newPath, record, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A function that desires the bucket `b`. */
export const addsBucket = changes((io) => {
  const others = io.desired?.resources?.filter(({ name }) => name !== "b") ?? [];
  io.desired = { ...io.desired, resources: [...others, { name: "b", resource: bucket() as never }] };
});
