import { createRequire } from "node:module";

/** The CEL library. */
export type CelLibrary = typeof import("@marcbachmann/cel-js");

let library: CelLibrary | undefined;

/**
 * Loads the CEL library for the first expression only: most Compositions and schemas have none. Loads it synchronously,
 * because compiling is.
 */
export function celLibrary(): CelLibrary {
  // It resolves from this package, wherever a bundler puts this file.
  library ??= createRequire(import.meta.resolve("@xfn/composition"))("@marcbachmann/cel-js") as CelLibrary;
  return library;
}
