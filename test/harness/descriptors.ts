import { readdirSync, readlinkSync } from "node:fs";

/** What each open descriptor of this process is of, as "pipe:[1234]" or a path. */
export function openDescriptors(): string[] {
  return descriptorsOf("self");
}

/** The same of another process. */
export function descriptorsOf(pid: number | "self"): string[] {
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).flatMap((descriptor) => {
    try {
      return [readlinkSync(`${directory}/${descriptor}`)];
    } catch {
      // The one that the directory was read with, or one that has just been closed.
      return [];
    }
  });
}

/** What one sandbox has open. A runner makes one ready for the next call, before or after somebody counts. */
export const DESCRIPTORS_OF_A_SANDBOX = 3;
