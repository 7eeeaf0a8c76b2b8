import { lstatSync, readdirSync } from "node:fs";
import { join, sep } from "node:path";

// The file systems of most users have such blocks.
const BLOCK_BYTES = 4096;

/** The disk space and the number of packages of an installation. */
export function installedSize(modules: string): { readonly bytes: number; readonly packages: number } {
  let bytes = 0;
  let packages = 0;
  const seen = new Set<number>();
  for (const name of readdirSync(modules, { recursive: true, encoding: "utf8" })) {
    const stat = lstatSync(join(modules, name));
    // esbuild links its program a second time.
    if (stat.isFile() && !seen.has(stat.ino)) bytes += Math.ceil(stat.size / BLOCK_BYTES) * BLOCK_BYTES;
    seen.add(stat.ino);
    const inside = name.split(`node_modules${sep}`).at(-1) ?? "";
    if (/^(?:@[^/]+\/)?[^/@.][^/]*\/package\.json$/.test(inside)) packages += 1;
  }
  return { bytes, packages };
}
