#!/usr/bin/env node
import { ExitCode } from "@xfn/program/exit-code";
import { startProgram } from "@xfn/program/start";
import { disableMaglev, exposeGc, tuneForLoading } from "@xfn/program/v8-tuning";
import { compiledCodeDir } from "../cache-dir.ts";

tuneForLoading();
disableMaglev();
exposeGc();
// `xfn-runner serve --help | head` closes stdout early. Report it by the exit code only.
process.stdout.on("error", () => {
  process.exitCode = ExitCode.failed;
});
await startProgram({
  name: "xfn-runner",
  compileCacheDir: compiledCodeDir,
  stacks: true,
  load: () => import("./program.ts"),
});
