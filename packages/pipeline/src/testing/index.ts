// Tests of Compositions and functions in vitest, with the engine itself. Importing this adds the matchers to `expect`.
import "./matchers.ts";

export { RecordingError, type RecordingErrorCode } from "../recording/index.ts";
export { type ConvergeOptions, converge } from "./converge.ts";
export type { TestInput } from "./prepare.ts";
export { compareWithRecording, type RecordedFunction } from "./recorded.ts";
export { render } from "./render.ts";
export type { Rendering } from "./rendering.ts";
export { beside, type Source } from "./source.ts";
export type { TestFunction } from "./test-functions.ts";
export type { TestPackage } from "./test-packages.ts";
export { TestingError, type TestingErrorCode } from "./testing-error.ts";
