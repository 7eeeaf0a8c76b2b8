// Each code with whether the same call may succeed later.

const RUN_ERRORS = {
  PullFailed: true,
  ImageInvalid: false,
  RuntimeMissing: false,
  NamespaceUnavailable: false,
  LimitUnavailable: false,
  /** The runner runs no function of `type: Chroot`, or its host cannot. */
  ChrootUnavailable: false,
  RootFilesystemFailed: false,
  StartFailed: false,
  NonZeroExit: false,
  Killed: true,
  Timeout: true,
  OutOfMemory: true,
  /** The function failed after its limit refused it a process or thread. */
  TooManyProcesses: false,
  /** The function failed after its root filesystem ran out of space. */
  DiskFull: false,
  OutputTooLarge: false,
  /** The server of a function ended by itself with code 0. */
  ServerExited: true,
  /** All servers of functions that the runner may have are in use. */
  TooManyServers: true,
  Aborted: false,
  Closed: true,
} as const;

const SERVICE_ERRORS = {
  InvalidRequest: false,
  InputTooLarge: false,
  Unauthenticated: false,
  PermissionDenied: false,
  Unimplemented: false,
  QueueFull: true,
  ResourceExhausted: true,
  Unavailable: true,
  Internal: false,
} as const;

/** How a run fails. Failures of the function itself (its exit code, its output) are included. */
export type RunnerErrorCode = keyof typeof RUN_ERRORS;

/** How a service that runs functions fails besides: the request, the caller's rights, the service's state. */
export type ServiceErrorCode = keyof typeof SERVICE_ERRORS;

const RETRYABLE: ReadonlyMap<string, boolean> = new Map(Object.entries({ ...RUN_ERRORS, ...SERVICE_ERRORS }));

/** Whether a call that failed with this code may succeed later; false for unknown codes. */
export function isRetryable(code: string): boolean {
  return RETRYABLE.get(code) ?? false;
}

/** The phases in which a call can fail. */
export type RunnerPhase = "pull" | "unpack" | "start" | "run" | "timeout" | "output";

const PHASES: ReadonlySet<unknown> = new Set<RunnerPhase>(["pull", "unpack", "start", "run", "timeout", "output"]);

/** Whether a value names a phase. */
export function isRunnerPhase(value: unknown): value is RunnerPhase {
  return PHASES.has(value);
}

/** Errors of a runner that has no room. It has not looked at the call. */
const REFUSED: ReadonlySet<unknown> = new Set(["QueueFull", "TooManyServers"]);

/**
 * Whether the function of a failed call cannot have started, and the same call can succeed later. Only such a call may
 * be sent again without the consent of the function's author: a function can have effects.
 *
 * @param error the error of a runner, a client of one, or another way to call functions. `undelivered: true` says that
 *   nothing was sent
 */
export function isUndelivered(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, phase, retryable, undelivered }: FailedCall = error;
  return retryable === true && (undelivered === true || phase === "pull" || REFUSED.has(code));
}

/** The properties of an error that decide. */
interface FailedCall {
  readonly code?: unknown;
  readonly phase?: unknown;
  readonly retryable?: unknown;
  readonly undelivered?: unknown;
}
