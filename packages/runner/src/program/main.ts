#!/usr/bin/env node
import { createRequire } from "node:module";
import { ExitCode } from "@xfn/program/exit-code";
import { startProgram } from "@xfn/program/start";
import { disableMaglev, exposeGc, tuneForLoading } from "@xfn/program/v8-tuning";
import { compiledCodeDir } from "../cache-dir.ts";

// `xfn-runner serve --help | head` closes stdout early. Only the exit code reports it.
process.stdout.on("error", () => {
  process.exitCode = ExitCode.failed;
});
await startProgram({
  name: "xfn-runner",
  compileCacheDir: compiledCodeDir,
  prepare: () => {
    tuneForLoading();
    disableMaglev();
    exposeGc();
  },
  stacks: true,
  load,
});

/** Tests run from the sources. Otherwise all modules of the program are in one file, which loads in half the time. */
async function load(): Promise<typeof import("./program.ts")> {
  if (import.meta.url.endsWith(".ts")) return await import("./program.ts");
  return createRequire(import.meta.url)("./program-bundle.cjs") as typeof import("./program.ts");
}
