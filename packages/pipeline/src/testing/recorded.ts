import { fileURLToPath } from "node:url";
import type { FunctionIO } from "@xfn/functionio";
import { printJson } from "@xfn/json/text";
import { compareWithStep, type RecordedStep, Replay, readRecording } from "../recording/index.ts";
import { isUrl } from "./source.ts";
import { overBytes, overResourceList } from "./test-functions.ts";
import { TestingError } from "./testing-error.ts";

/** One step of a recording. */
export interface RecordedFunction {
  /** The folder of the recording. */
  readonly recording: URL;
  /** The name of the step. Default: the only step. `xfn run --record` records one. */
  readonly step?: string;
}

/** The inputs that select a replay. */
interface ReplayInput {
  readonly recording?: URL;
  readonly functions?: unknown;
  readonly packages?: unknown;
  readonly runner?: unknown;
}

/**
 * The replay of a test's recording; undefined without one.
 *
 * @throws {TestingError} `InvalidInput` if functions are given too
 * @throws {RecordingError}
 */
export function replayOf({ recording, functions, packages, runner }: ReplayInput): Replay | undefined {
  if (recording === undefined) return undefined;
  for (const [name, value] of Object.entries({ functions, packages, runner }))
    if (value !== undefined)
      throw new TestingError("InvalidInput", `recording replaces all functions; remove ${name}, or recording`);
  return new Replay(readRecording(folderAt(recording)));
}

/**
 * Calls a function with the inputs of a recorded step, and compares its outputs with the recorded ones. Secrets of the
 * inputs are masks, such as `(secret 1)`.
 *
 * @param fn a function, such as the result of `compose` of @xfn/functionio/sdk
 * @returns a line for each field that differs; none if the outputs are still the same
 * @throws {RecordingError} if the recording cannot be read
 * @throws {TestingError} `UnknownFunction` if it has no such step, or the step is one of a function package
 */
export async function compareWithRecording(
  fn: (io: FunctionIO) => FunctionIO | Promise<FunctionIO>,
  { recording, step: name }: RecordedFunction,
): Promise<string[]> {
  const { steps } = readRecording(folderAt(recording));
  const step = name === undefined && steps.length === 1 ? steps[0] : steps.find((one) => one.name === name);
  if (step?.type !== "Function") throw unknownStep(name, steps);
  return await compareWithStep(step, async (input) => {
    const form = input["apiVersion"] === KRM_API_VERSION ? "KRM" : "ResourceList";
    const run = input["kind"] === "ResourceList" ? overResourceList(fn, form) : overBytes(fn);
    return await run(new TextEncoder().encode(printJson(input)), {});
  });
}

const KRM_API_VERSION = "config.kubernetes.io/v1";

function unknownStep(name: string | undefined, steps: readonly RecordedStep[]): TestingError {
  const known = steps.filter(({ type }) => type === "Function").map((step) => JSON.stringify(step.name));
  return new TestingError(
    "UnknownFunction",
    `the recording has no FunctionIO step ${JSON.stringify(name ?? "(none is named)")}; it has: ${known.join(", ") || "none"}`,
  );
}

function folderAt(recording: URL): string {
  if (typeof recording === "object" && isUrl(recording) && recording.protocol === "file:")
    return fileURLToPath(recording);
  throw new TestingError(
    "InvalidInput",
    'recording must be the file: URL of a folder, such as beside(import.meta.url)("recording")',
  );
}
