import type { Ended } from "../protocol/frames.ts";
import { MEMORY_IMPORT } from "./import-memory.ts";
import type { LoadedModule } from "./load-module.ts";
import type { MemoryPages } from "./memory-pages.ts";
import { ExitError, type StandardStreams } from "./standard-streams.ts";
import { WASI_MODULE, wasiFunctions } from "./wasi.ts";

/** How an instance ended. */
export interface Outcome {
  /** Undefined if the function succeeded. */
  readonly failure: Ended | undefined;
  /** The final size of the memory, in bytes. */
  readonly memoryBytes: number;
}

/** The engine's messages are short, but a module can throw a long message. */
const MAX_MESSAGE = 300;

/**
 * Runs one fresh instance to its end.
 *
 * @param pages prepares the memory of the instance, if the platform supports it
 */
export function runInstance(loaded: LoadedModule, streams: StandardStreams, pages?: MemoryPages): Outcome {
  let memory: WebAssembly.Memory | undefined;
  let imported: WebAssembly.Memory | undefined;
  const functions = wasiFunctions(streams, () => {
    // The start function of a module runs before its exports are known.
    if (memory === undefined) throw new RangeError("the memory is not exported yet");
    return memory;
  });
  let ended: Omit<Ended, "memoryBytes"> | undefined;
  try {
    imported = loaded.memory && new WebAssembly.Memory(loaded.memory);
    if (imported !== undefined) pages?.prepare(imported.buffer, loaded.memory?.maximum);
    const instance = new WebAssembly.Instance(loaded.module, {
      [WASI_MODULE]: Object.fromEntries(functions),
      ...(imported && { [MEMORY_IMPORT.module]: { [MEMORY_IMPORT.name]: imported } }),
    });
    const { memory: exported, _start: start } = instance.exports;
    if (!(exported instanceof WebAssembly.Memory) || typeof start !== "function")
      throw new TypeError("the module has been checked");
    memory = exported;
    start();
  } catch (error) {
    if (!(error instanceof ExitError)) ended = { reason: "trap", message: messageOf(error) };
    else if (error.exitCode !== 0) ended = { reason: "exit", code: error.exitCode };
  }
  if (streams.isTooLarge) ended = { reason: "output-too-large" };
  // A module that fails before its exports are known may have used its memory too.
  const memoryBytes = (imported ?? memory)?.buffer.byteLength ?? 0;
  if (imported !== undefined) pages?.release(imported.buffer);
  return { failure: ended && { ...ended, memoryBytes }, memoryBytes };
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : "it threw an exception";
  return text.slice(0, MAX_MESSAGE);
}
