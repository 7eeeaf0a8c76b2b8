import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { CodeCache } from "@xfn/program/code-cache";
import { ExitCode } from "@xfn/program/exit-code";
import { startProgram } from "@xfn/program/start";
import { exposeGc } from "@xfn/program/v8-tuning";
import { compiledCodeDir } from "@xfn/runner/cache-dir";

/** The file with all of `xfn render`. scripts/bundle.ts makes it, and defines its name. */
declare const RENDER_FILE: string | undefined;

exposeGc();
// Never rejects.
void startProgram({
  name: "xfn",
  compileCacheDir: compiledCodeDir,
  stacks: (process.env["XFN_DEBUG"] ?? "") !== "",
  load: async () =>
    typeof RENDER_FILE === "string" && process.argv[2] === "render"
      ? renderProgram(fileURLToPath(new URL(RENDER_FILE, import.meta.url)))
      : import("./program.ts"),
});

function renderProgram(file: string): typeof import("./render-program.ts") {
  const folder = usableFolder();
  if (folder === undefined) return createRequire(import.meta.url)(file) as typeof import("./render-program.ts");
  const cache = new CodeCache(folder, useOf(process.argv.slice(3)));
  const { main } = cache.load(file) as typeof import("./render-program.ts");
  return {
    main: async (args) => {
      const exitCode = await main(args);
      if (exitCode === ExitCode.ok) cache.save();
      return exitCode;
    },
  };
}

function usableFolder(): string | undefined {
  try {
    return compiledCodeDir();
  } catch {
    // The commands that need the folder report it.
    return undefined;
  }
}

/** The flags without values, and the number of files. */
function useOf(args: readonly string[]): string {
  const flags = args.filter((arg) => arg.startsWith("-")).map((arg) => arg.replace(/=.*/s, ""));
  return [args.length - flags.length, ...new Set(flags)].join(" ").slice(0, 200);
}
