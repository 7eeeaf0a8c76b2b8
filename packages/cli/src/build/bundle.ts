import { join } from "node:path";
import type { BuildFailure, Message } from "esbuild";
import { inputError } from "../errors.ts";
import { MAPPED_STACKS, mappedStacks } from "./mapped-stacks.ts";
import { stablePaths } from "./stable-paths.ts";

/** A bundled function: one CommonJS file, and the map that leads from it to the sources. */
export interface Bundle {
  readonly code: Uint8Array;
  readonly sourceMap: Uint8Array;
  /** Warnings, one line each. */
  readonly warnings: readonly string[];
}

/** The names of the two files, side by side in the image. */
export const BUNDLE_FILE = "index.cjs";
export const SOURCE_MAP_FILE: string = `${BUNDLE_FILE}.map`;

/**
 * Bundles a function with everything that it imports. Imports of `@xfn/functionio` that the folder cannot resolve come from
 * xfn's own installation. The same sources give the same bytes, wherever they and xfn lie.
 *
 * @param dir - the function's folder, absolute
 * @param entry - its file with the default export, relative to `dir`
 * @throws CliError `Input` with `file:line:column` lines
 */
export async function bundle(dir: string, entry: string): Promise<Bundle> {
  const esbuild = await import("esbuild");
  const contents = [
    `import ${JSON.stringify(MAPPED_STACKS)};`,
    // Before any module of the function: importing it keeps stdout clean for the protocol.
    'import { serve } from "@xfn/functionio/sdk/entry";',
    `import fn from ${JSON.stringify(`./${entry}`)};`,
    "serve(fn);",
  ].join("\n");
  try {
    const { outputFiles, warnings } = await esbuild.build({
      stdin: { contents, resolveDir: dir, sourcefile: "xfn-entry.js", loader: "js" },
      absWorkingDir: dir,
      outfile: join(dir, BUNDLE_FILE),
      write: false,
      bundle: true,
      platform: "node",
      format: "cjs",
      target: "node24",
      charset: "utf8",
      legalComments: "none",
      sourcemap: "external",
      sourcesContent: false,
      logLevel: "silent",
      // `run(import.meta, fn)` does nothing in a bundle, as it should: the entry serves the function.
      logOverride: { "empty-import-meta": "silent" },
      define: { "import.meta.dirname": "__dirname", "import.meta.filename": "__filename" },
      plugins: [mappedStacks, stablePaths(dir)],
    });
    const find = (suffix: string): Uint8Array =>
      outputFiles.find(({ path }) => path.endsWith(suffix))?.contents ?? new Uint8Array();
    return { code: find(".cjs"), sourceMap: find(".map"), warnings: warnings.map(describe) };
  } catch (error) {
    const errors = (error as Partial<BuildFailure>).errors ?? [];
    if (errors.length === 0) throw error;
    throw inputError(`${join(dir, entry)} cannot be bundled`, errors.map(describe), error);
  }
}

function describe({ location, text }: Message): string {
  return location === null ? text : `${location.file}:${location.line}:${location.column + 1}: ${text}`;
}
