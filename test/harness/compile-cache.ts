import { execFileSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { CHECKOUT } from "./paths.ts";

/** Variables for threads and processes that unit tests start from sources: with them, they compile a module once. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(CHECKOUT, "node_modules/.cache/xfn-tests") };

// Threads that many tests start. As main modules they end at once.
const MODULES = ["packages/oci-rootfs/src/worker/worker.ts", "packages/pipeline/src/output/output-worker.ts"];

/**
 * Vitest's global set-up: fills the cache. Without it, each thread would compile the WebAssembly module with which Node
 * strips types. V8 13.6 can abort when many threads do (https://github.com/nodejs/node/issues/64500).
 */
export function setup(): void {
  for (const module of MODULES)
    execFileSync(process.execPath, [join(CHECKOUT, module)], { env: { ...process.env, ...COMPILE_CACHE } });
}
