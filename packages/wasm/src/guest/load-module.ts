import { PAGE_BYTES } from "../protocol/limits.ts";
import { importMemory, MEMORY_IMPORT, type MemoryType } from "./import-memory.ts";
import { mergeData } from "./merge-data.ts";
import { DATA, onlySection, refusalOf } from "./sections.ts";
import { WASI_MODULE, WASI_NAMES } from "./wasi.ts";

/** The module cannot be a function. */
export class InvalidModuleError extends Error {
  override readonly name = "InvalidModuleError";
  readonly code = "ImageInvalid";
  readonly retryable = false;
}

/** The longest name in a message: a module can have names of any length. */
const MAX_NAME = 64;

/**
 * The least size of the data segments for which preparing the memory pays off. Go's modules have a megabyte of data,
 * and touch most of their memory. Modules in Rust, C and AssemblyScript touch a few pages.
 */
const MUCH_DATA_BYTES = 256 * 1024;

/** A compiled module. */
export interface LoadedModule {
  readonly module: WebAssembly.Module;
  /** The memory that the module imports as {@link MEMORY_IMPORT}; absent if the module defines its own. */
  readonly memory?: MemoryType;
}

/**
 * Compiles a module, and checks that it has what a function needs and imports nothing but WASI preview 1.
 *
 * @throws InvalidModuleError
 */
export function loadModule(bytes: Buffer): LoadedModule {
  const refusal = refusalOf(bytes);
  if (refusal !== undefined) throw new InvalidModuleError(refusal);
  const loaded = compile(bytes);
  const { module, memory } = loaded;
  // A module that already imports this name has the import twice after the rewrite, and only one is the host's.
  let memoriesOfHost = memory === undefined ? 0 : 1;
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    const isOfHost = from === MEMORY_IMPORT.module && name === MEMORY_IMPORT.name && kind === "memory";
    if (isOfHost && memoriesOfHost-- > 0) continue;
    if (from === WASI_MODULE && kind === "function" && WASI_NAMES.has(name)) continue;
    throw new InvalidModuleError(
      `it imports the ${kind} ${shown(from)}.${shown(name)}, which does not exist: functions have ${WASI_MODULE} alone`,
    );
  }
  const exported = new Map(WebAssembly.Module.exports(module).map(({ name, kind }) => [name, kind]));
  if (exported.get("_start") !== "function")
    throw new InvalidModuleError("it exports no function _start; build a command, not a library (reactor)");
  if (exported.get("memory") !== "memory") throw new InvalidModuleError("it exports no memory of the name memory");
  return loaded;
}

function compile(bytes: Buffer): LoadedModule {
  try {
    const merged = mergeData(bytes);
    const { bytes: rewritten, memory } = (hasMuchData(merged) && importMemory(merged)) || { bytes: merged };
    const module = new WebAssembly.Module(rewritten);
    if (memory === undefined) return { module };
    // If the memory exceeds the limit, use the module without the rewrite: the instance itself then reports the error.
    return isPossible(memory) ? { module, memory } : { module: compileBytes(bytes) };
  } catch {
    // The message must name an index of the original module.
    return { module: compileBytes(bytes) };
  }
}

function isPossible(memory: MemoryType): boolean {
  try {
    return new WebAssembly.Memory(memory).buffer.byteLength === memory.initial * PAGE_BYTES;
  } catch {
    return false;
  }
}

function hasMuchData(bytes: Buffer): boolean {
  const data = onlySection(bytes, DATA);
  return data !== undefined && data.end - data.content >= MUCH_DATA_BYTES;
}

function compileBytes(bytes: Buffer): WebAssembly.Module {
  try {
    return new WebAssembly.Module(bytes);
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : "unknown error";
    throw new InvalidModuleError(`V8 refuses it: ${reason}`, { cause: error });
  }
}

function shown(name: string): string {
  return JSON.stringify(name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}...` : name).slice(1, -1);
}
