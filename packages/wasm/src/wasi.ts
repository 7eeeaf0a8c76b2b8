// @xfn/wasm/wasi: the functions that a module imports, without the process that confines it.

export { StandardStreams, type StreamsHost } from "./guest/standard-streams.ts";
export { type HostFunction, type InstanceMemory, wasiFunctions } from "./guest/wasi.ts";
