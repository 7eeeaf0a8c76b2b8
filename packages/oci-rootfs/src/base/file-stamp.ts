import { statSync } from "node:fs";

/**
 * What tells that a file is the one that it was: it changes when the file is written to, or another takes its place. Undefined where
 * there is none.
 */
export function fileStamp(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
}
