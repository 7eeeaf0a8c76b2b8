#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { ExitCode } from "@xfn/program/exit-code";
import { exposeGc } from "@xfn/program/v8-tuning";
import { compiledCodeDir } from "@xfn/runner/cache-dir";

const debug = (process.env["XFN_DEBUG"] ?? "") !== "";

exposeGc();
// Compiled code is kept between runs: it halves the start-up of the larger commands. Only what is imported after this
// line profits, hence the dynamic import.
try {
  const dir = compiledCodeDir();
  if (dir !== undefined) enableCompileCache(dir);
} catch {
  // No folder to keep it in; the commands that need one say so.
}
process.on("uncaughtException", (error) => {
  process.stderr.write(`xfn: internal error: ${debug ? error.stack : `${error.message} (XFN_DEBUG=1 tells more)`}\n`);
  process.exit(ExitCode.failed);
});

try {
  const { main } = await import("./program.ts");
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // Only a damaged installation gets here: main reports everything else itself.
  process.stderr.write(
    `xfn: cannot start: ${error instanceof Error ? (debug ? error.stack : error.message) : String(error)}\n`,
  );
  process.exitCode = ExitCode.failed;
}
