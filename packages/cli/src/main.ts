#!/usr/bin/env node
import { createRequire } from "node:module";
import { startProgram } from "@xfn/program/start";
import { exposeGc } from "@xfn/program/v8-tuning";
import { compiledCodeDir } from "@xfn/runner/cache-dir";

/** The file with all of `xfn render`. scripts/bundle.ts makes it, and defines its name. */
declare const RENDER_FILE: string | undefined;

exposeGc();
await startProgram({
  name: "xfn",
  compileCacheDir: compiledCodeDir,
  stacks: (process.env["XFN_DEBUG"] ?? "") !== "",
  load: async () =>
    typeof RENDER_FILE === "string" && process.argv[2] === "render"
      ? (createRequire(import.meta.url)(RENDER_FILE) as typeof import("./program.ts"))
      : import("./program.ts"),
});
