// @xfn/wasm/module: the check of a module, without the processes that run one.

export { moduleFault } from "./guest/load-module.ts";
export { MAX_MODULE_BYTES } from "./protocol/limits.ts";
