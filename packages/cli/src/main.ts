#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { ExitCode } from "@xfn/program/exit-code";
import { exposeGc } from "@xfn/program/v8-tuning";
import { compiledCodeDir } from "@xfn/runner/cache-dir";

const debug = (process.env["XFN_DEBUG"] ?? "") !== "";

exposeGc();
// Caching compiled code halves the start-up of the larger commands. It only works for later imports, hence the dynamic
// import.
try {
  const dir = compiledCodeDir();
  if (dir !== undefined) enableCompileCache(dir);
} catch {
  // There is no cache folder; the commands that need one report it.
}
process.on("uncaughtException", (error) => {
  process.stderr.write(
    `xfn: internal error: ${debug ? error.stack : `${error.message} (XFN_DEBUG=1 prints the stack)`}\n`,
  );
  process.exit(ExitCode.failed);
});

try {
  const { main } = await import("./program.ts");
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // Only a damaged installation gets here: `main` reports all other errors.
  process.stderr.write(
    `xfn: cannot start: ${error instanceof Error ? (debug ? error.stack : error.message) : String(error)}\n`,
  );
  process.exitCode = ExitCode.failed;
}
