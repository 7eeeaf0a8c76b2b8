#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { ExitCode } from "@xfn/program/exit-code";
import { disableMaglev, exposeGc, tuneForLoading } from "@xfn/program/v8-tuning";
import { compiledCodeDir } from "../cache-dir.ts";

tuneForLoading();
disableMaglev();
exposeGc();
// The cache of compiled code helps only modules that are imported after this line: hence the dynamic import.
try {
  const dir = compiledCodeDir();
  if (dir !== undefined) enableCompileCache(dir);
} catch {
  // Without a cache folder there is no cache. The commands that need the folder report the problem.
}
process.on("uncaughtException", (error) => {
  process.stderr.write(`xfn-runner: internal error: ${error.stack ?? error.message}\n`);
  process.exit(ExitCode.failed);
});
// `xfn-runner serve --help | head` closes stdout early. Report it by the exit code only.
process.stdout.on("error", () => {
  process.exitCode = ExitCode.failed;
});

try {
  const { main } = await import("./program.ts");
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // main reports all other errors: only a damaged installation can fail here.
  process.stderr.write(`xfn-runner: cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = ExitCode.failed;
}
