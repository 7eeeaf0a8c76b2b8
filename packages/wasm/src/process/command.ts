import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  BYTES_UNTIL_OPTIMIZED,
  CODE_MEBIBYTES,
  HEAP_GROWING_PERCENT,
  HEAP_MEBIBYTES,
  MAX_MODULE_BYTES,
  MAX_TABLE_ENTRIES,
  PAGE_BYTES,
} from "../protocol/limits.ts";

export type Command = readonly [program: string, ...args: string[]];

const SHELL = "/bin/sh";
const FOLDER = fileURLToPath(new URL("..", import.meta.url));
const MAIN = join(FOLDER, "guest", import.meta.url.endsWith(".ts") ? "main.ts" : "main.js");

/** No core dumps, no files, few descriptors. */
const RLIMITS = "unset PWD; ulimit -c 0 && ulimit -f 0 && ulimit -n 64";

/**
 * The command that starts a module's process. Its limits are V8 flags and rlimits, which macOS has too. Node's
 * permission model denies files, processes, threads and the inspector.
 *
 * @param memoryBytes the memory limit of an instance
 * @param filters whether the process installs a seccomp filter, for which it loads koffi
 */
export function processCommand(memoryBytes: number, maxOutputBytes: number, filters: boolean): Command {
  const readable = [dirname(FOLDER.replace(/\/$/, "")), ...(filters ? koffiFolders() : [])];
  const flags = [
    "--permission",
    ...readable.map((folder) => `--allow-fs-read=${folder}/*`),
    ...(filters ? ["--allow-addons"] : []),
    "--no-warnings",
    "--disable-proto=throw",
    // Disables eval of strings, which the process does not use.
    "--disallow-code-generation-from-strings",
    `--max-old-space-size=${HEAP_MEBIBYTES}`,
    "--max-semi-space-size=4",
    `--heap-growing-percent=${HEAP_GROWING_PERCENT}`,
    `--wasm-max-mem-pages=${Math.floor(memoryBytes / PAGE_BYTES)}`,
    `--wasm-max-table-size=${MAX_TABLE_ENTRIES}`,
    `--wasm-max-module-size=${MAX_MODULE_BYTES}`,
    `--wasm-max-committed-code-mb=${CODE_MEBIBYTES}`,
    `--wasm-tiering-budget=${BYTES_UNTIL_OPTIMIZED}`,
    // V8 gets two threads: one for code, one for garbage collection.
    "--v8-pool-size=2",
    MAIN,
    String(maxOutputBytes),
    String(memoryBytes),
  ];
  const node: Command = [process.execPath, ...flags];
  if (!existsSync(SHELL)) return node;
  return [SHELL, "-c", `${RLIMITS} && exec "$0" "$@"`, ...node];
}

/** The folders from which koffi is loaded. */
function koffiFolders(): string[] {
  const folder = dirname(createRequire(import.meta.url).resolve("koffi"));
  return [folder, join(dirname(folder), "@koromix")];
}
