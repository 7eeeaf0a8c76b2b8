// The files of a recording: an index, and one file for each step.

/** The file that makes a folder a recording. */
export const INDEX_FILE = "recording.yaml";

/** The `format` in that file. */
export const FORMAT = "xfn-recording";

/** A larger file could not be read again in a reasonable time. */
export const MAX_FILE_BYTES: number = 64 * 1024 * 1024;

/** More steps than any Composition has. */
export const MAX_STEPS = 1000;

/** The last line of each file: the end of a YAML document. A file without it is cut off. */
export const END = "...\n";

const MAX_SLUG = 60;
const STEP_FILE = /^\d{2,4}-[a-z0-9-]{1,60}\.yaml$/;

/** The file of a step. The name of a step can be any text, so only letters and digits of it are in the file's name. */
export function stepFile(index: number, step: string): string {
  const slug = step
    .toLowerCase()
    .replace(/[^a-z0-9]{1,100}/g, "-")
    .replace(/^-/, "")
    .slice(0, MAX_SLUG)
    .replace(/-$/, "");
  return `${String(index + 1).padStart(2, "0")}-${slug === "" ? "step" : slug}.yaml`;
}

/** Whether a recording can have a file of this name. */
export function isRecordingFile(name: string): boolean {
  return name === INDEX_FILE || STEP_FILE.test(name);
}
