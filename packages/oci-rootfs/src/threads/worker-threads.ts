import { CodedError, messageOf } from "@xfn/errors";
import { onAbort } from "@xfn/lifetime";
import "../base/require-node.ts";
import { parentPort, Worker } from "node:worker_threads";

/** A small young generation is collected more often, and with it used buffers, which do not count as heap. */
const YOUNG_GENERATION_MB = 1;
/** An idle thread is stopped after this time, because a server may run for months. */
const IDLE_MS = 500;
/** The time for a job to end after an abort. Then its thread is stopped, which ends a long job without awaits too. */
const ABORT_MS = 100;

export interface ThreadLimits {
  /** Concurrent threads. */
  readonly threads: number;
  /** The heap of each. If a thread needs more, only the thread ends and not the process. */
  readonly heapMb: number;
  /** The part of the heap for new objects. Jobs that keep most of what they make need more. Default 1. */
  readonly youngMb?: number | undefined;
  /** How long an idle thread, with its heap, waits for another job. With 0 each job has a thread. Default 500. */
  readonly idleMs?: number | undefined;
}

/**
 * - `Aborted`: the caller aborted the job; the cause is the signal's reason
 * - `NotStarted`: the system lacks threads or memory, which may be temporary
 * - `OutOfMemory`: the job needs more than the thread's heap
 * - `Exited`: the thread ended for another reason
 */
export type ThreadErrorCode = "Aborted" | "NotStarted" | "OutOfMemory" | "Exited";

/** A job has no outcome. */
export class ThreadError extends CodedError<ThreadErrorCode> {
  override readonly name = "ThreadError";
  override readonly retryable: boolean = this.code === "Aborted" || this.code === "NotStarted";

  constructor(code: ThreadErrorCode, message: string, cause: unknown) {
    super(code, message, { cause });
  }
}

export interface ThreadsOptions extends ThreadLimits {
  /** The module that each thread runs. It calls {@link serveJobs}. */
  readonly module: URL;
}

export interface JobOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether the process may exit before the job is done. Default false. */
  readonly background?: boolean | undefined;
  /** Buffers of the job that the thread gets without a copy. The caller loses them. */
  readonly transfer?: readonly ArrayBuffer[] | undefined;
}

/** The outcome of a job, as the worker sends it back. Errors are sent as data, because a clone loses their classes. */
export type JobOutcome<Result, SentError> = { readonly result: Result } | { readonly error: SentError };

/**
 * Runs jobs on worker threads, so that the main thread stays free for calls and connections. A job that needs too much
 * memory ends its thread, and usually not the process: V8 ends the process if one step of native code needs far more
 * than the heap. So a job must bound what it reads. Starting a thread takes about 20 ms.
 */
export class WorkerThreads<Job, Outcome> {
  readonly #options: ThreadsOptions;
  readonly #idle: Worker[] = [];
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: ThreadsOptions) {
    this.#options = options;
  }

  /** @throws ThreadError */
  async run(job: Job, { signal, background = false, transfer = [] }: JobOptions = {}): Promise<Outcome> {
    throwIfAborted(signal);
    await this.#acquire(signal);
    try {
      throwIfAborted(signal);
      const worker = this.#idle.pop() ?? this.#start();
      if (background) worker.unref();
      else worker.ref();
      const outcome = await this.#ask(worker, job, signal, transfer);
      this.#keep(worker);
      return outcome;
    } finally {
      this.#release();
    }
  }

  async #acquire(signal: AbortSignal | undefined): Promise<void> {
    if (this.#running >= this.#options.threads) await this.#waitForThread(signal);
    else this.#running += 1;
  }

  /** A waiting job takes the place over: were it freed first, another job could take it too. */
  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }

  #waitForThread(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = (): void => {
        forget();
        resolve();
      };
      this.#waiting.push(go);
      const forget = onAbort(signal, () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        reject(aborted(signal));
      });
    });
  }

  #keep(worker: Worker): void {
    const { idleMs = IDLE_MS } = this.#options;
    if (idleMs === 0) return end(worker);
    const forget = (): boolean => {
      const at = this.#idle.indexOf(worker);
      if (at >= 0) this.#idle.splice(at, 1);
      return at >= 0;
    };
    worker.removeAllListeners();
    worker.once("error", forget).once("exit", forget).unref();
    this.#idle.push(worker);
    setTimeout(() => {
      if (forget()) void worker.terminate();
    }, idleMs).unref();
  }

  #start(): Worker {
    const { module, heapMb, youngMb = YOUNG_GENERATION_MB } = this.#options;
    try {
      return new Worker(module, {
        resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: youngMb },
        // Without the options of the process, such as a test runner's loader.
        execArgv: [],
      });
    } catch (cause) {
      const message = messageOf(cause);
      const way = "retry when the machine is less busy, or raise its limit of processes (`ulimit -u`, pids.max)";
      throw new ThreadError("NotStarted", `cannot start a worker thread (${message}): ${way}`, cause);
    }
  }

  async #ask(
    worker: Worker,
    job: Job,
    signal: AbortSignal | undefined,
    transfer: readonly ArrayBuffer[],
  ): Promise<Outcome> {
    let limit: NodeJS.Timeout | undefined;
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const died = (cause: unknown): void => {
      const message = cause instanceof Error ? cause.message : `exit code ${String(cause)}`;
      const isMemory = cause instanceof Error && "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY";
      reject(new ThreadError(isMemory ? "OutOfMemory" : "Exited", `the worker thread exited: ${message}`, cause));
    };
    worker.removeAllListeners();
    worker.once("message", resolve).once("error", died).once("exit", died);
    const forget = onAbort(signal, () => {
      limit = setTimeout(() => {
        end(worker);
        reject(aborted(signal));
      }, ABORT_MS);
    });
    try {
      worker.postMessage(job, transfer); // oxlint-disable-line unicorn/require-post-message-target-origin
      return await promise;
    } finally {
      clearTimeout(limit);
      forget();
    }
  }
}

/** Ends a thread. A thread in a system call ends after the call. */
function end(worker: Worker): void {
  // It may still run out of memory, and an error without a listener would end this process.
  worker.removeAllListeners().on("error", () => undefined);
  void worker.terminate();
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw aborted(signal);
}

function aborted(signal: AbortSignal | undefined): ThreadError {
  return new ThreadError("Aborted", "aborted by the caller", signal?.reason);
}

/** Does the jobs of a worker thread, one at a time. Its module calls this once. Threads send jobs of the right type. */
export function serveJobs(run: (job: never) => unknown, sendError: (thrown: unknown) => unknown): void {
  parentPort?.on("message", (job: unknown) => {
    void respond(job as never, run, sendError);
  });
}

async function respond(
  job: never,
  run: (job: never) => unknown,
  sendError: (thrown: unknown) => unknown,
): Promise<void> {
  let outcome: JobOutcome<unknown, unknown>;
  try {
    outcome = { result: await run(job) };
  } catch (error) {
    outcome = { error: sendError(error) };
  }
  parentPort?.postMessage(outcome); // oxlint-disable-line unicorn/require-post-message-target-origin
}
