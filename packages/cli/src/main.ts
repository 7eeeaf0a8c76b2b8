#!/usr/bin/env node
import { startProgram } from "@xfn/program/start";
import { exposeGc } from "@xfn/program/v8-tuning";
import { compiledCodeDir } from "@xfn/runner/cache-dir";

exposeGc();
await startProgram({
  name: "xfn",
  compileCacheDir: compiledCodeDir,
  stacks: (process.env["XFN_DEBUG"] ?? "") !== "",
  load: () => import("./program.ts"),
});
