/** Options of one call. Every field has a safe default. */
export interface RunOptions {
  /** Name of the pipeline step, for messages. */
  step?: string;
  /** Milliseconds that the function may run before it is killed; default {@link DEFAULT_TIMEOUT_MS}. The clock starts when its input is delivered. */
  timeoutMs?: number;
  /** `Isolated` (default): a network namespace of its own with nothing in it. `Accessible`: the runner's network. */
  network?: "Isolated" | "Accessible";
  /** Memory limit in bytes. Refused with `LimitUnavailable` where this host cannot enforce it. */
  memoryBytes?: number;
  /** CPU limit in cores, such as 0.25. Refused with `LimitUnavailable` where this host cannot enforce it. */
  cpus?: number;
  /**
   * Processes and threads that the function may have (a few more may be made: those of the OCI runtime are counted too).
   * Refused with `LimitUnavailable` where this host cannot enforce it. Without it the bound is {@link MAX_PROCESSES}, kept as
   * well as the host can: an ordinary user's functions may have to share one of twice that.
   */
  pids?: number;
  /** When to ask the registry; default `IfNotPresent`. */
  pullPolicy?: "IfNotPresent" | "Always" | "Never";
  /** Credentials for the image's own registry. */
  auth?: { username?: string; password?: string; auth?: string; identityToken?: string; registryToken?: string };
  /** Ends the call: the container is killed and reaped, then the promise rejects with `Aborted`. */
  signal?: AbortSignal;
  /** Told the end of what the function wrote to stderr, whatever became of the call; not called when that is nothing. */
  onStderr?: (tail: string) => void;
  /** Told how long each phase took, in milliseconds. */
  onPhase?: (phase: "pull" | "start" | "run", ms: number) => void;
}

/** Seed 000: "How long the function may run before it's killed. Defaults to 10s." */
export const DEFAULT_TIMEOUT_MS = 10_000;

/** The largest answer that is read from a function: the message bound of the runner contract (design section 3.2). */
export const MAX_OUTPUT_BYTES: number = 100 * 1024 * 1024;

/** How much of the end of stderr is kept for messages; the rest is read and dropped so that a chatty function never blocks. */
export const STDERR_TAIL_BYTES: number = 16 * 1024;

/** What a function may write to its own root filesystem. It lives in memory, so the bound protects the machine. */
export const WRITABLE_BYTES: number = 256 * 1024 * 1024;

/** What a function may write to /tmp where its root filesystem is read-only. It lives in memory too. */
export const READ_ONLY_TMP_BYTES: number = 64 * 1024 * 1024;

/** Processes and threads that one function may have; Node and Go need a few dozen, a fork bomb needs more. */
export const MAX_PROCESSES = 1024;

/** Open files that one process of a function may have. */
export const MAX_OPEN_FILES = 4096;
