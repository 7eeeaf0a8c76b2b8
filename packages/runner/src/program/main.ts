#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { compiledCodeDir } from "../cache-dir.ts";
import { setFlagsForLoading } from "./v8-flags.ts";

setFlagsForLoading();
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
