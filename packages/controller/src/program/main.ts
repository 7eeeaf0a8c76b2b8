#!/usr/bin/env node
import { ExitCode } from "@xfn/program/exit-code";
import { startProgram } from "@xfn/program/start";
import { tuneForLoading } from "@xfn/program/v8-tuning";

// `xfn-controller start --help | head` closes stdout early. Report it by the exit code only.
process.stdout.on("error", () => {
  process.exitCode = ExitCode.failed;
});
await startProgram({
  name: "xfn-controller",
  // `start` grows the young generation to the size that it needs.
  prepare: tuneForLoading,
  stacks: true,
  load: () => import("./program.ts"),
});
