import { refusalOf } from "./module-refusal.ts";
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
 * Compiles a module, and checks that it has what a function needs and imports nothing but WASI preview 1.
 *
 * @throws InvalidModuleError
 */
export function loadModule(bytes: Buffer): WebAssembly.Module {
  const refusal = refusalOf(bytes);
  if (refusal !== undefined) throw new InvalidModuleError(refusal);
  const module = compile(bytes);
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (from === WASI_MODULE && kind === "function" && WASI_NAMES.has(name)) continue;
    throw new InvalidModuleError(
      `it imports the ${kind} ${shown(from)}.${shown(name)}, which does not exist: functions have ${WASI_MODULE} alone`,
    );
  }
  const exported = new Map(WebAssembly.Module.exports(module).map(({ name, kind }) => [name, kind]));
  if (exported.get("_start") !== "function")
    throw new InvalidModuleError("it exports no function _start; build a command, not a library (reactor)");
  if (exported.get("memory") !== "memory") throw new InvalidModuleError("it exports no memory of the name memory");
  return module;
}

function compile(bytes: Buffer): WebAssembly.Module {
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
