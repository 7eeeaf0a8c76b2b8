import { isObject, type JsonObject, type JsonValue, objectAt, textAt, textOrEmpty, valueAt } from "@xfn/json";
import { readFile } from "./read-file.ts";
import {
  RECORDING_VERSION,
  type RecordedCall,
  type RecordedError,
  type RecordedObject,
  type RecordedStep,
  type Recording,
} from "./recording.ts";
import { RecordingError } from "./recording-error.ts";
import { FORMAT, INDEX_FILE, MAX_STEPS, stepFile } from "./recording-files.ts";

/**
 * Reads the recording in a folder. It can come from anywhere: names in it never become paths.
 *
 * @throws {RecordingError} `NotARecording`, `Unreadable`, `TooLarge`, `Invalid`, `UnsupportedVersion`
 */
export function readRecording(folder: string): Recording {
  const index = readIndex(folder);
  const { version } = index;
  if (version !== RECORDING_VERSION) {
    throw new RecordingError(
      "UnsupportedVersion",
      `the recording has the format version ${typeof version === "number" ? version : "(none)"}, and this xfn reads ` +
        `version ${RECORDING_VERSION}; record the run again`,
    );
  }
  const steps = requiredList(index, "steps", INDEX_FILE);
  if (steps.length > MAX_STEPS)
    throw new RecordingError("TooLarge", `${INDEX_FILE} has ${steps.length} steps; at most ${MAX_STEPS} are read`);
  const composite = objectOf(index["composite"]);
  const composition = textAt(index, "composition");
  const error = errorOf(index["error"]);
  const read = steps.map((step, at) => readStep(folder, step, at));
  const names = read.map(({ name }) => name);
  const second = names.find((name, at) => names.indexOf(name) !== at);
  if (second !== undefined) throw invalid(`${INDEX_FILE} has two steps with the name ${JSON.stringify(second)}`);
  return {
    ...(composite && { composite }),
    ...(composition !== undefined && { composition }),
    status: oneOf(index, "status", ["Succeeded", "Fatal", "Failed"], INDEX_FILE),
    ...(error && { error }),
    steps: read,
  };
}

function readIndex(folder: string): JsonObject {
  let index: JsonObject;
  try {
    index = readFile(folder, INDEX_FILE);
  } catch (cause) {
    if (!(cause instanceof RecordingError) || cause.code !== "Unreadable") throw cause;
    const message = `the folder has no recording: ${cause.message}; xfn render --record DIR makes one`;
    throw new RecordingError("NotARecording", message, { cause });
  }
  if (index["format"] === FORMAT) return index;
  throw new RecordingError("NotARecording", `${INDEX_FILE} is not the index of a recording (format: ${FORMAT})`);
}

function readStep(folder: string, listed: JsonValue, index: number): RecordedStep {
  const name = isObject(listed) ? requiredText(listed, "name", INDEX_FILE) : "";
  const file = stepFile(index, name);
  const document = readFile(folder, file);
  if (requiredText(document, "step", file) !== name)
    throw invalid(`${file} is about another step than ${JSON.stringify(name)}, which ${INDEX_FILE} names`);
  const calls = requiredList(document, "calls", file);
  if (calls.length !== valueAt(listed, "calls") || calls.length === 0)
    throw invalid(`${file} has ${calls.length} calls, and ${INDEX_FILE} says another number`);
  return {
    name,
    type: oneOf(document, "type", ["Function", "Package"], file),
    calls: calls.map((call, at) => callOf(call, `${file}: calls[${at}]`)),
  };
}

function callOf(call: JsonValue, place: string): RecordedCall {
  const { input, output, error } = objectAt(call);
  if (!isObject(input)) throw invalid(`${place} has no input`);
  const failure = errorOf(error);
  if (isObject(output) === (failure !== undefined)) throw invalid(`${place} must have either an output or an error`);
  return { input, ...(isObject(output) && { output }), ...(failure && { error: failure }) };
}

function errorOf(value: JsonValue | undefined): RecordedError | undefined {
  if (!isObject(value)) return undefined;
  return { code: textAt(value, "code") ?? "Internal", message: textOrEmpty(value, "message") };
}

function objectOf(value: JsonValue | undefined): RecordedObject | undefined {
  if (!isObject(value)) return undefined;
  const namespace = textAt(value, "namespace");
  return {
    apiVersion: textOrEmpty(value, "apiVersion"),
    kind: textOrEmpty(value, "kind"),
    name: textOrEmpty(value, "name"),
    ...(namespace !== undefined && { namespace }),
  };
}

function requiredText(object: JsonObject, field: string, place: string): string {
  const value = object[field];
  if (typeof value === "string") return value;
  throw invalid(`${place} has no ${field}`);
}

function requiredList(object: JsonObject, field: string, place: string): readonly JsonValue[] {
  const value = object[field];
  if (Array.isArray(value)) return value;
  throw invalid(`${place} has no list ${field}`);
}

function oneOf<T extends string>(object: JsonObject, field: string, values: readonly T[], place: string): T {
  const found = values.find((one) => one === object[field]);
  if (found !== undefined) return found;
  throw invalid(`${place}: ${field} must be one of ${values.join(", ")}`);
}

function invalid(message: string): RecordingError {
  return new RecordingError("Invalid", message);
}
