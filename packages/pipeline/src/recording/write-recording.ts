import { lstatSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, type Stats, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { JsonObject, JsonValue } from "@xfn/json";
import { printYaml } from "@xfn/json/document";
import { readFile } from "./read-file.ts";
import { RECORDING_VERSION, type Recording } from "./recording.ts";
import { RecordingError } from "./recording-error.ts";
import { END, FORMAT, INDEX_FILE, isRecordingFile, MAX_FILE_BYTES, MAX_STEPS, stepFile } from "./recording-files.ts";

/**
 * Checks that a recording may be written to a folder: it is missing, empty, or a recording, which is then replaced.
 *
 * @throws {RecordingError} `NotARecording`
 */
export function checkTarget(folder: string): void {
  const stats = lstatOf(folder);
  if (stats === undefined) return;
  if (!stats.isDirectory())
    throw new RecordingError("NotARecording", `${folder} is not a folder; name a new folder for the recording`);
  const names = readdirSync(folder);
  if (names.length === 0) return;
  const other = names.find((name) => !isRecordingFile(name) || lstatOf(join(folder, name))?.isFile() !== true);
  if (other === undefined && isRecording(folder)) return;
  throw new RecordingError(
    "NotARecording",
    `${folder} has other files than those of a recording${other === undefined ? "" : `, such as ${other}`}; name a new ` +
      "folder, because a recording replaces all files of its folder",
  );
}

/**
 * Writes a recording to a new folder next to the target, which then replaces the target. Only its owner can read it.
 *
 * @returns the bytes of the files
 * @throws {RecordingError} `NotARecording`, `TooLarge`, `WriteFailed`
 */
export function writeRecording(target: string, recording: Recording): number {
  const folder = resolve(target);
  const files = filesOf(recording);
  checkTarget(folder);
  const parent = dirname(folder);
  let fresh: string | undefined;
  try {
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    // A folder of mkdtemp has the mode 0700.
    fresh = mkdtempSync(join(parent, `.${basename(folder)}.new-`));
    for (const [name, text] of files) writeFileSync(join(fresh, name), text, { mode: 0o600, flag: "wx" });
    replace(folder, fresh, parent);
  } catch (cause) {
    if (fresh !== undefined) rmSync(fresh, { recursive: true, force: true });
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error";
    throw new RecordingError("WriteFailed", `cannot write the recording to ${target} (${code})`, { cause });
  }
  return files.reduce((sum, [, text]) => sum + text.length, 0);
}

function replace(folder: string, fresh: string, parent: string): void {
  const isNew = lstatOf(folder) === undefined || readdirSync(folder).length === 0;
  if (isNew) {
    renameSync(fresh, folder);
    return;
  }
  const old = mkdtempSync(join(parent, `.${basename(folder)}.old-`));
  renameSync(folder, old);
  renameSync(fresh, folder);
  rmSync(old, { recursive: true, force: true });
}

function filesOf({ composite, composition, status, error, steps }: Recording): [name: string, text: string][] {
  if (steps.length > MAX_STEPS)
    throw new RecordingError("TooLarge", `the run has ${steps.length} steps; a recording has at most ${MAX_STEPS}`);
  const index: JsonObject = {
    format: FORMAT,
    version: RECORDING_VERSION,
    ...(composite && { composite: { ...composite } }),
    ...(composition !== undefined && { composition }),
    status,
    ...(error && { error: { ...error } }),
    steps: steps.map(({ name, calls }) => ({ name, calls: calls.length })),
  };
  return [
    [INDEX_FILE, print(INDEX_FILE, index)],
    ...steps.map(({ name: step, type, calls }, at): [string, string] => {
      const name = stepFile(at, step);
      const documents = calls.map(
        ({ input, output, error: failure }): JsonValue => ({
          input,
          ...(output && { output }),
          ...(failure && { error: { ...failure } }),
        }),
      );
      return [name, print(name, { step, type, calls: documents })];
    }),
  ];
}

function print(name: string, document: JsonObject): string {
  const text = `${printYaml(document)}${END}`;
  if (Buffer.byteLength(text) <= MAX_FILE_BYTES) return text;
  throw new RecordingError("TooLarge", `the recording's file ${name} would have more than ${MAX_FILE_BYTES} bytes`);
}

function isRecording(folder: string): boolean {
  try {
    return readFile(folder, INDEX_FILE)["format"] === FORMAT;
  } catch {
    return false;
  }
}

function lstatOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
