#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";
import { compiledCodeDir } from "../cache-dir.ts";

// What is made while the program loads would blow up the space for young objects to 16 MB, which a server then keeps for ever:
// its calls' bytes are elsewhere, and the rest of a call is small.
setFlagsFromString("--semi-space-growth-factor=1");
// What the middle one of V8's compilers needs for its work, some 25 MB, is never given back; the last one does without.
setFlagsFromString("--no-maglev");

// Compiled code is kept between runs. Only what is imported after this line profits, hence the dynamic import.
try {
  const dir = compiledCodeDir();
  if (dir !== undefined) enableCompileCache(dir);
} catch {
  // No folder to keep it in; the commands that need one say so.
}
process.on("uncaughtException", (error) => {
  process.stderr.write(`xfn-runner: internal error: ${error.stack ?? error.message}\n`);
  process.exit(1);
});
// `xfn-runner serve --help | head`: say nothing more than the exit code does.
process.stdout.on("error", () => {
  process.exitCode = 1;
});

try {
  const { main } = await import("./program.ts");
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // Only a damaged installation gets here: main reports everything else itself.
  process.stderr.write(`xfn-runner: cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
