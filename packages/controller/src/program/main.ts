#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { ExitCode } from "@xfn/program/exit-code";
import { tuneForLoading } from "@xfn/program/v8-tuning";

// `start` grows the young generation to the size that it needs.
tuneForLoading();

// Node.js keeps the cache in `NODE_COMPILE_CACHE` or the system's temporary folder. It helps only modules that are
// imported after this line: hence the dynamic import.
enableCompileCache();
process.on("uncaughtException", (error) => {
  process.stderr.write(`xfn-controller: internal error: ${error.stack ?? error.message}\n`);
  process.exit(ExitCode.failed);
});
// `xfn-controller start --help | head` closes stdout early. Report it by the exit code only.
process.stdout.on("error", () => {
  process.exitCode = ExitCode.failed;
});

try {
  const { main } = await import("./program.ts");
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // main reports all other errors: only a damaged installation can fail here.
  process.stderr.write(`xfn-controller: cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = ExitCode.failed;
}
