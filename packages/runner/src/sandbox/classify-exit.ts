import { ImageError } from "@xfn/oci-rootfs";
import {
  MAX_PAYLOAD_BYTES,
  RunnerError,
  type RunnerErrorCode,
  type RunnerErrorDetails,
  type RunnerPhase,
  type RunOptions,
} from "@xfn/runner-contract";
import type { LimitHits } from "../cgroup/limit-cgroup.ts";
import { MAX_PROCESSES } from "../cgroup/process-rlimit.ts";
import { WRITABLE_BYTES } from "./limits.ts";
import type { Exit } from "./sandbox-host.ts";

/** Why we killed a container; the first reason counts. */
export class Ending {
  reason: "Timeout" | "Aborted" | "OutputTooLarge" | undefined;
  readonly #kill: () => void;
  constructor(kill: () => void) {
    this.#kill = kill;
  }
  end(reason: "Timeout" | "Aborted" | "OutputTooLarge"): void {
    if (this.reason !== undefined) return;
    this.reason = reason;
    this.#kill();
  }
}

/** What a container's end means: the error of the call, or undefined where it succeeded. */
export function judge(
  exit: Exit,
  reason: Ending["reason"],
  hits: LimitHits,
  stderr: string,
  options: RunOptions & { timeoutMs: number; writableBytes?: number },
): RunnerError | undefined {
  const failure = (code: RunnerErrorCode, phase: RunnerPhase, message: string, exitCode?: number): RunnerError =>
    new RunnerError(code, message, { phase, stderr, ...(exitCode === undefined ? {} : { exitCode }) });
  switch (reason) {
    case "Timeout":
      return failure(
        "Timeout",
        "timeout",
        `it did not end within ${options.timeoutMs / 1000} s and was killed; give it more time with \`timeout\``,
      );
    case "Aborted":
      return failure("Aborted", "run", "the call was cancelled");
    case "OutputTooLarge":
      return failure(
        "OutputTooLarge",
        "output",
        `it wrote more than ${mebibytes(MAX_PAYLOAD_BYTES)} to stdout and was killed`,
      );
    case undefined:
      break;
  }
  // It answered: what else happened inside, or what crun warned of, is the function's own affair.
  if (exit.code === 0) return undefined;
  const exitCode = exit.code ?? undefined;
  if (hits.outOfMemory) {
    return failure(
      "OutOfMemory",
      "run",
      `it was killed for using more memory than its limit of ${options.memoryBytes} bytes`,
    );
  }
  const pids = options.pids ?? MAX_PROCESSES;
  if (hits.tooManyProcesses) {
    return failure(
      "TooManyProcesses",
      "run",
      `${howItFailed(exit)} after it was refused a process or thread more than the ${pids} that it may have`,
      exitCode,
    );
  }
  if (exit.runtimeError !== null)
    return failure("StartFailed", "start", `its container could not be started: ${exit.runtimeError}`);
  if (wasKilled(exit)) return failure("Killed", "run", "it was killed from outside (signal 9)", exitCode);
  if (exit.diskFull) {
    return failure(
      "DiskFull",
      "run",
      `${howItFailed(exit)} with no room left for its files: it may write ${mebibytes(options.writableBytes ?? WRITABLE_BYTES)}, which are thrown away after the call`,
      exitCode,
    );
  }
  if (saysProcessRefused(stderr)) {
    return failure(
      "TooManyProcesses",
      "run",
      `${howItFailed(exit)}, and its stderr says that it could not make a process or thread: it may have ${pids}`,
      exitCode,
    );
  }
  return failure("NonZeroExit", "run", howItFailed(exit), exitCode);
}

function howItFailed(exit: Exit): string {
  return wasKilled(exit) ? "it was killed (signal 9)" : `it exited with code ${exit.code}`;
}

// crun reports a function that died of signal N as 128 + N.
function wasKilled(exit: Exit): boolean {
  return exit.code === null || exit.code === 128 + 9;
}

function mebibytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MiB`;
}

// Where no cgroup counts processes, RLIMIT_NPROC is the bound, and the kernel keeps no record of what that refused (EAGAIN).
// What programs say then: shells ("Cannot fork", "can't fork"), Node ("spawn ls EAGAIN"), Python ("can't start new
// thread"), Go ("failed to create new OS thread"), the JVM ("unable to create native thread").
const refusals = [
  /\b(can'?t|cannot|could ?n[o']t|unable to|failed to) (fork|start new thread|create (a )?(new )?(\w+ )?(thread|process))\b/i,
  /\b(fork|spawn|clone|exec|thread|pthread_create|uv_thread_create)\b.*(resource temporarily unavailable|\bEAGAIN\b)/i,
];

function saysProcessRefused(stderr: string): boolean {
  return refusals.some((refusal) => refusal.test(stderr));
}

const pullCodes: ReadonlySet<string> = new Set([
  "InvalidConfig",
  "InvalidReference",
  "NoEntrypoint",
  "UnsafeLayer",
  "WrongPlatform",
]);

/** Adds what the caller knows (image, step) to an error from below. */
export function describeFailure(error: unknown, image: string, options: RunOptions): RunnerError {
  const named = options.step === undefined ? `function ${image}` : `function ${image} (step ${options.step})`;
  const context = { image, ...(options.step === undefined ? {} : { step: options.step }) };
  if (error instanceof RunnerError) {
    const details: RunnerErrorDetails = {
      phase: error.phase,
      retryable: error.retryable,
      cause: error.cause,
      ...context,
    };
    if (error.stderr !== undefined) details.stderr = error.stderr;
    if (error.exitCode !== undefined) details.exitCode = error.exitCode;
    return new RunnerError(error.code, `${named}: ${error.message}`, details);
  }
  if (options.signal?.aborted)
    return new RunnerError("Aborted", `${named}: the call was cancelled`, { phase: "pull", cause: error, ...context });
  if (error instanceof ImageError) {
    const code = pullCodes.has(error.code) ? "ImageInvalid" : "PullFailed";
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

// "IMAGE: what" and "IMAGE, layer 0: what" come from the store; the image is named once.
function withoutName(message: string, image: string): string {
  const rest = message.startsWith(image) ? /^(?:: |, )(.+)$/s.exec(message.slice(image.length))?.[1] : undefined;
  return rest ?? message;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
