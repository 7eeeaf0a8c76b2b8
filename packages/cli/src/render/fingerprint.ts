import { type Dirent, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

// More files are not a function's sources; the rest is not compared.
const MAX_FILES = 5000;

/**
 * A text that changes when a file, or a file in a folder, changes. Empty for a missing path. Skips what builds of
 * functions do not read: `node_modules` and hidden files.
 */
export function fingerprint(path: string): string {
  const parts: string[] = [];
  add(path, parts, statSync);
  return parts.join("\n");
}

function add(path: string, parts: string[], stat: typeof statSync): void {
  if (parts.length >= MAX_FILES) return;
  let entries: Dirent[];
  try {
    const { mtimeNs, ctimeNs, size, ino } = stat(path, { bigint: true });
    parts.push(`${path} ${mtimeNs} ${ctimeNs} ${size} ${ino}`);
    entries = readdirSync(path, { withFileTypes: true });
  } catch {
    // A file has no entries. A path that vanished meanwhile has no fingerprint.
    return;
  }
  for (const { name } of entries) {
    if (name === "node_modules" || name.startsWith(".")) continue;
    add(join(path, name), parts, lstatSync);
  }
}
