#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { cacheDir } from "./cache-dir.ts";

// Compiled code is kept between runs: it halves the start-up of the larger commands. Only what is imported after this
// line profits, hence the dynamic import.
try {
  enableCompileCache(join(cacheDir(), "compiled"));
} catch {
  // No folder to keep it in; the commands that need one say so.
}
try {
  const { main } = await import("./program.ts");
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // Only a damaged installation gets here: main reports everything else itself.
  process.stderr.write(`xfn: cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
