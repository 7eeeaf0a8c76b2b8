import { readdirSync, readlinkSync } from "node:fs";

/** Returns the target of each open descriptor of this process, such as "pipe:[1234]" or a path. */
export function openDescriptors(): string[] {
  return descriptorsOf("self");
}

/** Returns the targets of another process's open descriptors. */
export function descriptorsOf(pid: number | "self"): string[] {
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).flatMap((descriptor) => {
    try {
      return [readlinkSync(`${directory}/${descriptor}`)];
    } catch {
      // The descriptor of the directory itself, or one that was just closed.
      return [];
    }
  });
}

/** The descriptors of one sandbox. The runner may prepare one for the next call before or after a test counts. */
export const DESCRIPTORS_OF_A_SANDBOX = 3;
