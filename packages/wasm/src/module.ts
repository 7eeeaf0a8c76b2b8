// @xfn/wasm/module: checks a module, without the processes that run one.

import { InvalidModuleError, loadModule } from "./guest/load-module.ts";

export { MAX_MODULE_BYTES } from "./protocol/limits.ts";

/** Returns why a module cannot be a function; undefined if it can. Does not run the module's code. */
export function moduleFault(bytes: Buffer): string | undefined {
  try {
    loadModule(bytes);
    return undefined;
  } catch (error) {
    if (error instanceof InvalidModuleError) return error.message;
    throw error;
  }
}
