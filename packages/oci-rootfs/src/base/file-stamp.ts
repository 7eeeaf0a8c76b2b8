import { statSync } from "node:fs";

/** Identifies a version of a file: changes when the file is written or replaced. Undefined if there is no such file. */
export function fileStamp(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
}
