import { availableParallelism } from "node:os";
import { onAbort, untilAborted } from "@xfn/lifetime";
import { DEFAULT_OUTPUT_BYTES, DEFAULT_TIMEOUT_MS, MAX_PAYLOAD_BYTES, RunnerError } from "@xfn/runner-contract";
import { DEFAULT_MEMORY_BYTES, MAX_MEMORY_BYTES, MAX_MODULE_BYTES, PAGE_BYTES } from "../protocol/limits.ts";
import { failureOf } from "./classify.ts";
import { processCommand } from "./command.ts";
import { WasmProcess } from "./wasm-process.ts";

/** Options of {@link WasmFunctions}. */
export interface WasmOptions {
  /** The largest output of a function, in bytes. Default {@link DEFAULT_OUTPUT_BYTES}. */
  readonly maxOutputBytes?: number | undefined;
  /** Idle timeout of a process, in milliseconds. Default: one minute. */
  readonly idleMs?: number | undefined;
  /**
   * Compiles the seccomp filter (an array of `struct sock_filter`) for a process, by its process id. Absent: only
   * Node's permission model confines the processes.
   */
  readonly filter?: ((pid: number) => Buffer) | undefined;
  /** Called once if the kernel does not accept the filter. */
  readonly onUnfiltered?: (() => void) | undefined;
}

export interface WasmCall {
  /** Identifies the module; for example, the digest of its image. */
  readonly digest: string;
  /** Reads the module. Called if no process has loaded it. */
  readonly module: () => Buffer;
  /** Milliseconds from the delivery of the input. Default {@link DEFAULT_TIMEOUT_MS}. */
  readonly timeoutMs?: number | undefined;
  /** Memory limit of the instance, in bytes. Default {@link DEFAULT_MEMORY_BYTES}. */
  readonly memoryBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when the module is compiled, before the input is delivered. */
  readonly onStarted?: (() => void) | undefined;
}

/** The result of a call, or its error. */
export interface WasmOutcome {
  readonly output?: Uint8Array;
  readonly failure?: RunnerError;
  readonly stderr: string;
}

interface Pooled {
  readonly process: WasmProcess;
  readonly key: string;
  busy: boolean;
  idle?: NodeJS.Timeout;
}

const DEFAULT_IDLE_MS = 60_000;
/** Further calls wait for a process. */
const MAX_PROCESSES = Math.max(4, 2 * availableParallelism());

/**
 * Runs modules as functions, each call in a fresh instance. A process compiles one module once, and runs one call at a
 * time. After a call it starts the next instance, which waits for its input.
 */
export class WasmFunctions {
  readonly maxOutputBytes: number;
  readonly #options: WasmOptions;
  readonly #pool = new Set<Pooled>();
  readonly #waiting: PromiseWithResolvers<void>[] = [];
  #closed = false;
  #saidUnfiltered = false;

  constructor(options: WasmOptions = {}) {
    this.#options = options;
    this.maxOutputBytes = Math.min(options.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES, MAX_PAYLOAD_BYTES);
  }

  get count(): number {
    return this.#pool.size;
  }

  /**
   * Runs one call. A failed function is an outcome, with the end of its stderr.
   *
   * @throws RunnerError `ImageInvalid`, `StartFailed`, `LimitUnavailable`, `Aborted`, `Killed`, `OutOfMemory`, `Closed`
   */
  async run(input: Uint8Array, call: WasmCall): Promise<WasmOutcome> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, memoryBytes = DEFAULT_MEMORY_BYTES, signal } = call;
    checkMemory(memoryBytes);
    const pooled = await this.#acquire(call, Math.min(memoryBytes, MAX_MEMORY_BYTES));
    const { process } = pooled;
    let reason: "Timeout" | "Aborted" | undefined;
    const end = (why: typeof reason): void => {
      reason ??= why;
      process.kill();
    };
    const forget = onAbort(signal, () => end("Aborted"));
    let timer: NodeJS.Timeout | undefined;
    try {
      // Compiling any module takes less time than this.
      timer = setTimeout(end, DEFAULT_TIMEOUT_MS, "Timeout");
      const { filtered } = await process.ready;
      if (!filtered && this.#options.filter !== undefined) this.#sayUnfiltered();
      call.onStarted?.();
      clearTimeout(timer);
      timer = setTimeout(end, timeoutMs, "Timeout");
      const { output, ended, stderr } = await process.call(input);
      if (output !== undefined) return { output, stderr };
      const failure = ended && failureOf(ended, { memoryBytes, maxOutputBytes: this.maxOutputBytes, stderr });
      return { ...(failure && { failure }), stderr };
    } catch (error) {
      if (reason === "Timeout")
        return { failure: endedByRunner(reason, timeoutMs, process.stderr), stderr: process.stderr };
      if (reason !== undefined) throw endedByRunner(reason, timeoutMs);
      if (this.#closed) throw closed();
      throw error;
    } finally {
      clearTimeout(timer);
      forget();
      this.#release(pooled);
    }
  }

  /** Ends all processes, and waits until they have exited. */
  async close(): Promise<void> {
    this.#closed = true;
    const pool = [...this.#pool];
    for (const one of pool) {
      one.process.keepAlive(true);
      this.#remove(one);
    }
    await Promise.all(pool.map(({ process }) => process.exited));
  }

  async #acquire(call: WasmCall, memoryBytes: number): Promise<Pooled> {
    const key = `${call.digest} ${memoryBytes}`;
    for (;;) {
      if (this.#closed) throw closed();
      if (call.signal?.aborted) throw endedByRunner("Aborted", 0);
      const pooled = this.#idleOf(key) ?? this.#start(key, call, memoryBytes);
      if (pooled !== undefined) return use(pooled);
      const turn = Promise.withResolvers<void>();
      this.#waiting.push(turn);
      try {
        await untilAborted(turn.promise, call.signal);
      } catch {
        const index = this.#waiting.indexOf(turn);
        if (index >= 0) this.#waiting.splice(index, 1);
        else this.#waiting.shift()?.resolve();
      }
    }
  }

  #idleOf(key: string): Pooled | undefined {
    for (const one of this.#pool) {
      if (one.busy || one.key !== key) continue;
      if (!one.process.gone) return one;
      this.#remove(one);
    }
    return undefined;
  }

  /** Starts a process. At the limit, it replaces an idle process of another module. */
  #start(key: string, call: WasmCall, memoryBytes: number): Pooled | undefined {
    if (this.#pool.size >= MAX_PROCESSES) {
      const idle = [...this.#pool].find(({ busy }) => !busy);
      if (idle === undefined) return undefined;
      this.#remove(idle);
    }
    const module = call.module();
    if (module.length > MAX_MODULE_BYTES) {
      const message = `its module has ${module.length} bytes, more than ${MAX_MODULE_BYTES}; build it without debug information`;
      throw new RunnerError("ImageInvalid", message, { phase: "start" });
    }
    const { filter } = this.#options;
    const command = processCommand(memoryBytes, this.maxOutputBytes, filter !== undefined);
    const process = new WasmProcess({ command, filter, module, maxOutputBytes: this.maxOutputBytes });
    const pooled: Pooled = { process, key, busy: true };
    this.#pool.add(pooled);
    return pooled;
  }

  #release(pooled: Pooled): void {
    if (pooled.process.gone || this.#closed) this.#remove(pooled);
    else {
      // The least recently used process is the first.
      this.#pool.delete(pooled);
      this.#pool.add(pooled);
      pooled.busy = false;
      pooled.process.keepAlive(false);
      pooled.idle = setTimeout(() => this.#remove(pooled), this.#options.idleMs ?? DEFAULT_IDLE_MS).unref();
    }
    this.#waiting.shift()?.resolve();
  }

  #remove(pooled: Pooled): void {
    clearTimeout(pooled.idle);
    this.#pool.delete(pooled);
    pooled.process.kill();
  }

  #sayUnfiltered(): void {
    if (this.#saidUnfiltered) return;
    this.#saidUnfiltered = true;
    this.#options.onUnfiltered?.();
  }
}

function use(pooled: Pooled): Pooled {
  clearTimeout(pooled.idle);
  pooled.busy = true;
  pooled.process.keepAlive(true);
  return pooled;
}

function checkMemory(memoryBytes: number): void {
  if (memoryBytes >= PAGE_BYTES) return;
  const message = `its memory limit of ${memoryBytes} bytes is less than one page of WebAssembly, ${PAGE_BYTES} bytes`;
  throw new RunnerError("LimitUnavailable", message, { phase: "start" });
}

function endedByRunner(reason: "Timeout" | "Aborted", timeoutMs: number, stderr = ""): RunnerError {
  if (reason === "Aborted") return new RunnerError("Aborted", "the call was cancelled", { phase: "run" });
  const message = `it did not end within ${timeoutMs / 1000} s and was killed; give it more time with \`timeout\``;
  return new RunnerError("Timeout", message, { phase: "timeout", ...(stderr !== "" && { stderr }) });
}

function closed(): RunnerError {
  return new RunnerError("Closed", "the runner was closed", { phase: "start", retryable: false });
}
