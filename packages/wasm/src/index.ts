// @xfn/wasm: WebAssembly modules (WASI preview 1) as functions.

export { type WasmCall, WasmFunctions, type WasmOptions, type WasmOutcome } from "./process/wasm-functions.ts";
export { DEFAULT_MEMORY_BYTES, MAX_MEMORY_BYTES, MAX_MODULE_BYTES } from "./protocol/limits.ts";
