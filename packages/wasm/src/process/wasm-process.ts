import { type ChildProcess, spawn } from "node:child_process";
import { RunnerError } from "@xfn/runner-contract";
import {
  ENDED,
  type Ended,
  FILTER,
  header,
  INPUT,
  INVALID,
  MODULE,
  OUTPUT,
  READY,
  type Ready,
  STDERR,
  WAITING,
} from "../protocol/frames.ts";
import { MAX_STDERR_BYTES } from "../protocol/limits.ts";
import type { Command } from "./command.ts";
import { FrameReader } from "./frame-reader.ts";

/** How a call ended. */
export interface Outcome {
  /** The function's stdout; absent if the function failed. */
  readonly output?: Buffer;
  readonly ended?: Ended;
  /** The end of stderr. */
  readonly stderr: string;
}

/** The module and the limits of a process. */
export interface ProcessOptions {
  readonly command: Command;
  /** Compiles the seccomp filter of the process; undefined for none. */
  readonly filter: ((pid: number) => Buffer) | undefined;
  readonly module: Buffer;
  readonly maxOutputBytes: number;
}

/** The process's own errors, such as V8's report of a full heap, are short. */
const MAX_REPORT = 4096;

/** Room for the frames besides outputs: JSON and messages. */
const MAX_MESSAGE_BYTES = 64 * 1024;

/** The longest time that an instance may run before it waits for its input: until then it occupies a processor. */
const MAX_WAIT_MS = 10_000;

const NO_FILTER: Buffer = Buffer.alloc(0);

/** One process of one module, which runs one call at a time. */
export class WasmProcess {
  /** Resolves when the module is compiled. @throws RunnerError `ImageInvalid`, `StartFailed`, `OutOfMemory` */
  readonly ready: Promise<Ready>;
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  readonly #becomeReady: PromiseWithResolvers<Ready> = Promise.withResolvers<Ready>();
  #call: PromiseWithResolvers<Outcome> | undefined;
  /** The end of the stderr of the instance that is running or waiting for its input. */
  #stderr: Buffer = Buffer.alloc(0);
  #report = "";
  #gone = false;
  #watch: NodeJS.Timeout | undefined;

  constructor({ command: [program, ...args], filter, module, maxOutputBytes }: ProcessOptions) {
    this.ready = this.#becomeReady.promise;
    this.ready.catch(() => undefined);
    // The process gets its own session: Ctrl-C reaches only the runner, which then ends its calls in order.
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], env: {}, cwd: "/", detached: true });
    const { stdin, stdout, stderr } = this.#child;
    const reader = new FrameReader(Math.max(maxOutputBytes, MAX_MESSAGE_BYTES), (kind, payload) =>
      this.#receive(kind, payload),
    );
    stdout?.on("data", (chunk: Buffer) => this.#push(reader, chunk));
    stderr?.on("data", (chunk: Buffer) => {
      if (this.#report.length < MAX_REPORT) this.#report += chunk.toString("utf8");
    });
    // The exit explains a broken pipe.
    stdin?.on("error", () => undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.exited = promise;
    this.#child.once("error", (cause) => this.#end(startFailed(cause.message, cause), resolve));
    this.#child.once("close", (code, signal) => this.#end(this.#exitError(code, signal), resolve));
    const { pid } = this.#child;
    // Without a process id, the process did not start.
    this.#send(FILTER, pid === undefined ? NO_FILTER : (filter?.(pid) ?? NO_FILTER));
    this.#send(MODULE, module);
  }

  /** Whether the process has exited or was killed. */
  get gone(): boolean {
    return this.#gone;
  }

  /** The end of the function's stderr in the call that ended with the process. */
  get stderr(): string {
    return this.#stderr.toString("utf8");
  }

  /** Runs one call. The process must be ready, and must not be running another call. */
  async call(input: Uint8Array): Promise<Outcome> {
    this.#unwatch();
    const call = Promise.withResolvers<Outcome>();
    this.#call = call;
    this.#send(INPUT, input);
    return await call.promise;
  }

  /** Kills the process and the call that it runs. */
  kill(): void {
    this.#gone = true;
    this.#unwatch();
    this.#child.kill("SIGKILL");
  }

  /** Sets whether the process keeps this program running. */
  keepAlive(isBusy: boolean): void {
    const change = isBusy ? "ref" : "unref";
    this.#child[change]();
    for (const pipe of [this.#child.stdin, this.#child.stdout, this.#child.stderr])
      (pipe as { ref?(): void; unref?(): void } | null)?.[change]?.();
  }

  #send(kind: number, payload: Uint8Array): void {
    const { stdin } = this.#child;
    // With one write for both, the process wakes up once.
    stdin?.cork();
    stdin?.write(header(kind, payload.length));
    if (payload.length > 0) stdin?.write(payload);
    stdin?.uncork();
  }

  #push(reader: FrameReader, chunk: Buffer): void {
    try {
      reader.push(chunk);
    } catch {
      // Only a module that took over its process can violate the protocol.
      this.kill();
    }
  }

  #receive(kind: number, payload: Buffer): void {
    switch (kind) {
      case READY:
        this.#startWatch();
        return this.#becomeReady.resolve(JSON.parse(payload.toString("utf8")) as Ready);
      case INVALID:
        return this.#becomeReady.reject(invalid(payload.toString("utf8")));
      case WAITING:
        return this.#unwatch();
      case STDERR:
        this.#stderr = Buffer.concat([this.#stderr, payload]).subarray(-MAX_STDERR_BYTES);
        return;
      case OUTPUT:
        // A chunk of the pipe can contain another frame.
        return this.#finish({ output: Buffer.from(payload), stderr: this.stderr });
      case ENDED:
        return this.#finish({ ended: JSON.parse(payload.toString("utf8")) as Ended, stderr: this.stderr });
      default:
        this.kill();
    }
  }

  #finish(outcome: Outcome): void {
    const call = this.#call;
    this.#call = undefined;
    // Further parts belong to the next instance.
    this.#stderr = Buffer.alloc(0);
    this.#startWatch();
    call?.resolve(outcome);
  }

  /** Kills the process if the next instance does not wait for its input in time. */
  #startWatch(): void {
    this.#unwatch();
    this.#watch = setTimeout(() => this.kill(), MAX_WAIT_MS).unref();
  }

  #unwatch(): void {
    clearTimeout(this.#watch);
    this.#watch = undefined;
  }

  #exitError(code: number | null, signal: NodeJS.Signals | null): RunnerError {
    // V8 aborts when its heap is full.
    if (/heap out of memory|OOM|allocation failed/i.test(this.#report))
      return new RunnerError("OutOfMemory", "it used more memory for its objects than functions may", { phase: "run" });
    if (signal === "SIGKILL")
      return new RunnerError("Killed", "it was killed from outside (signal 9)", { phase: "run" });
    const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
    return startFailed(`its process ${how}${this.#report === "" ? "" : `: ${this.#report.trim().slice(0, 300)}`}`);
  }

  #end(error: RunnerError, done: () => void): void {
    this.#gone = true;
    this.#unwatch();
    this.#becomeReady.reject(error);
    this.#call?.reject(error);
    this.#call = undefined;
    done();
  }
}

function invalid(reason: string): RunnerError {
  return new RunnerError("ImageInvalid", `its module cannot run: ${reason}`, { phase: "start" });
}

function startFailed(reason: string, cause?: unknown): RunnerError {
  return new RunnerError("StartFailed", `its process could not run: ${reason}`, { phase: "start", cause });
}
