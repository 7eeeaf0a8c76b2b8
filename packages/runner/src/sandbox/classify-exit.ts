import { messageOf } from "@xfn/errors";
import { ImageError } from "@xfn/oci-rootfs";
import {
  DEFAULT_OUTPUT_BYTES,
  RunnerError,
  type RunnerErrorCode,
  type RunnerPhase,
  type RunOptions,
} from "@xfn/runner-contract";
import type { LimitHits } from "../cgroup/limit-cgroup.ts";
import { MAX_PROCESSES } from "../cgroup/process-rlimit.ts";
import { WRITABLE_BYTES } from "./limits.ts";
import type { Exit } from "./sandbox-host.ts";

/** Kills a container for a reason. The first reason is kept. */
export class Ending {
  #reason: "Timeout" | "Aborted" | "OutputTooLarge" | undefined;
  readonly #kill: () => void;

  constructor(kill: () => void) {
    this.#kill = kill;
  }

  get reason(): "Timeout" | "Aborted" | "OutputTooLarge" | undefined {
    return this.#reason;
  }

  end(reason: "Timeout" | "Aborted" | "OutputTooLarge"): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#kill();
  }
}

type ClassifyOptions = RunOptions & {
  timeoutMs: number;
  writableBytes?: number;
  maxOutputBytes?: number | undefined;
  /** The memory that all function servers share, in bytes. Used if `memoryBytes` is undefined. */
  sharedMemoryBytes?: number | undefined;
};

/** Derives the error of a call from the end of its container; undefined if the function succeeded. */
export function classifyExit(
  exit: Exit,
  reason: Ending["reason"],
  hits: LimitHits,
  stderr: string,
  options: ClassifyOptions,
): RunnerError | undefined {
  if (reason !== undefined) return endedByRunner(reason, stderr, options);
  // Exit code 0 is a success, even if limits were reached inside or crun logged warnings.
  if (exit.code === 0) return undefined;
  const pids = options.pids ?? MAX_PROCESSES;
  const failure = (code: RunnerErrorCode, phase: RunnerPhase, message: string): RunnerError =>
    new RunnerError(code, message, { phase, stderr, exitCode: exit.code ?? undefined });
  if (hits.outOfMemory) {
    const { memoryBytes, sharedMemoryBytes } = options;
    const message =
      memoryBytes === undefined && sharedMemoryBytes !== undefined
        ? `it was killed because the functions that are servers used more memory than the ${sharedMemoryBytes} bytes that they share`
        : `it was killed because it used more memory than its limit of ${memoryBytes} bytes`;
    return new RunnerError("OutOfMemory", message, { phase: "run", stderr });
  }
  if (hits.tooManyProcesses) {
    const message = `${howItFailed(exit)} after the kernel refused it a process or thread beyond its limit of ${pids}`;
    return failure("TooManyProcesses", "run", message);
  }
  if (exit.runtimeError !== null) {
    const message = `its container could not be started: ${exit.runtimeError}`;
    return new RunnerError("StartFailed", message, { phase: "start", stderr });
  }
  if (wasKilled(exit)) return failure("Killed", "run", "it was killed from outside (signal 9)");
  if (exit.diskFull) {
    const size = mebibytes(options.writableBytes ?? WRITABLE_BYTES);
    const message = `${howItFailed(exit)} after its disk ran full: it may write ${size}, which are discarded after the call`;
    return failure("DiskFull", "run", message);
  }
  if (reportsRefusedProcess(stderr)) {
    const message = `${howItFailed(exit)}, and its stderr says that it could not make a process or thread: its limit is ${pids}`;
    return failure("TooManyProcesses", "run", message);
  }
  return failure("NonZeroExit", "run", howItFailed(exit));
}

function endedByRunner(
  reason: NonNullable<Ending["reason"]>,
  stderr: string,
  { timeoutMs, maxOutputBytes = DEFAULT_OUTPUT_BYTES }: ClassifyOptions,
): RunnerError {
  switch (reason) {
    case "Timeout": {
      const message = `it did not end within ${timeoutMs / 1000} s and was killed; give it more time with \`timeout\``;
      return new RunnerError("Timeout", message, { phase: "timeout", stderr });
    }
    case "Aborted":
      return new RunnerError("Aborted", "the call was cancelled", { phase: "run", stderr });
    case "OutputTooLarge": {
      const message = `it wrote more than ${mebibytes(maxOutputBytes)} to stdout and was killed; the runner's operator can allow more`;
      return new RunnerError("OutputTooLarge", message, { phase: "output", stderr });
    }
  }
}

function howItFailed(exit: Exit): string {
  return wasKilled(exit) ? "it was killed (signal 9)" : `it exited with code ${exit.code}`;
}

/** Whether a signal killed a function. crun reports signal N as 128 + N. */
export function wasKilled(exit: Exit): boolean {
  return exit.code === null || exit.code === 128 + 9;
}

function mebibytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MiB`;
}

// Without a cgroup RLIMIT_NPROC is the limit, and the kernel does not record that it was reached (EAGAIN). Programs
// print it: shells ("Cannot fork", "can't fork"), Node ("spawn ls EAGAIN"), Python ("can't start new thread"), Go
// ("failed to create new OS thread"), the JVM ("unable to create native thread").
const refusals = [
  /\b(can'?t|cannot|could ?n[o']t|unable to|failed to) (fork|start new thread|create (a )?(new )?(\w+ )?(thread|process))\b/i,
  /\b(fork|spawn|clone|exec|thread|pthread_create|uv_thread_create)\b.*(resource temporarily unavailable|\bEAGAIN\b)/i,
];

function reportsRefusedProcess(stderr: string): boolean {
  return refusals.some((refusal) => refusal.test(stderr));
}

/** Codes of errors that the image itself causes. */
const invalidImageCodes: ReadonlySet<string> = new Set([
  "InvalidConfig",
  "InvalidReference",
  "NoEntrypoint",
  "UnsafeLayer",
  "WrongPlatform",
]);

/** Adds the image and the step to an error of a lower layer. */
export function describeFailure(
  error: unknown,
  image: string,
  options: Pick<RunOptions, "step" | "signal">,
): RunnerError {
  const named = options.step === undefined ? `function ${image}` : `function ${image} (step ${options.step})`;
  const context = { image, step: options.step };
  if (error instanceof RunnerError) {
    const { phase, retryable, stderr, exitCode, cause } = error;
    const details = { phase, retryable, stderr, exitCode, cause, ...context };
    return new RunnerError(error.code, `${named}: ${error.message}`, details);
  }
  if (options.signal?.aborted)
    return new RunnerError("Aborted", `${named}: the call was cancelled`, { phase: "pull", cause: error, ...context });
  if (error instanceof ImageError) {
    const code = invalidImageCodes.has(error.code) ? "ImageInvalid" : "PullFailed";
    return new RunnerError(code, `${named}: ${withoutName(error.message, image)}`, {
      phase: "pull",
      retryable: error.retryable,
      cause: error,
      ...context,
    });
  }
  return new RunnerError("StartFailed", `${named}: ${messageOf(error)}`, {
    phase: "start",
    retryable: false,
    cause: error,
    ...context,
  });
}

// The store's messages begin with "IMAGE: " or "IMAGE, layer 0: ". Remove that, so that the image is named only once.
function withoutName(message: string, image: string): string {
  const rest = message.startsWith(image) ? /^(?:: |, )(.+)$/s.exec(message.slice(image.length))?.[1] : undefined;
  return rest ?? message;
}
