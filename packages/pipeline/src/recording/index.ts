// Recordings: the inputs and outputs of a run's functions, without secrets. A replay runs a Composition with them.

export { compareWithStep } from "./compare-with-step.ts";
export type { RecordedRun } from "./make-recording.ts";
export { readRecording } from "./read-recording.ts";
export type {
  RecordedCall,
  RecordedError,
  RecordedObject,
  RecordedStep,
  Recording,
  StepType,
} from "./recording.ts";
export { RECORDING_VERSION } from "./recording.ts";
export { RecordingError, type RecordingErrorCode, type RecordingErrorDetails } from "./recording-error.ts";
export { Replay, type ReplayedCallers, type ReplayOptions } from "./replay.ts";
export { RunRecorder } from "./run-recorder.ts";
export type { Callers } from "./tapped-callers.ts";
export { checkTarget, writeRecording } from "./write-recording.ts";
