// Each code with whether the same call may succeed later.

const RUN_ERRORS = {
  /** The image does not exist, or its registry does not answer. Check name, credentials, `--insecure-registry`. */
  PullFailed: true,
  /** The image has no entrypoint, is for another platform, or has unsafe entries. Build it again. */
  ImageInvalid: false,
  /** This host lacks the OCI runtime. Run `xfn doctor` on it, which prints the fix. */
  RuntimeMissing: false,
  /** This host refuses namespaces. Run `xfn doctor` on it, which prints the fix. */
  NamespaceUnavailable: false,
  /** This host cannot enforce a limit. Run `xfn doctor`, or set `--allow-unlimited`. */
  LimitUnavailable: false,
  /**
   * The runner does not allow functions of `type: Chroot`, or its host cannot run them: `--allow-chroot`, as root on
   * x86_64.
   */
  ChrootUnavailable: false,
  /** The root filesystem could not be made; the message has the reason. Run `xfn doctor`, and check the disk. */
  RootFilesystemFailed: false,
  /** The container could not be started; the message has the reason. Run `xfn doctor`. */
  StartFailed: false,
  /** The function failed. The error has the end of its stderr. */
  NonZeroExit: false,
  /** Another process or the kernel killed the function, such as for lack of memory. Set `--max-memory`. */
  Killed: true,
  /** The function exceeded its timeout, or the caller's deadline passed first: `phase` has which. */
  Timeout: true,
  /** The function reached its memory limit. Raise it, or use less. */
  OutOfMemory: true,
  /** The function failed after its limit refused it a process or thread. */
  TooManyProcesses: false,
  /** The function failed after its root filesystem ran out of space. */
  DiskFull: false,
  /** The function wrote more than `--max-output` of the runner or of its caller. */
  OutputTooLarge: false,
  /** The server of a function exited with code 0. If it never listened on port 9443, it is not a gRPC server. */
  ServerExited: true,
  /** All function servers that the runner may start are in use. Raise `--max-servers`. */
  TooManyServers: true,
  /** The caller cancelled the call. */
  Aborted: false,
  /** The runner is stopping, or lost its sandbox host. Callers retry a call that had not started. */
  Closed: true,
} as const;

const SERVICE_ERRORS = {
  /** An image name, quantity or timeout is invalid, or `oci:` names a relative folder. Correct the caller. */
  InvalidRequest: false,
  /** The input is larger than 100 MiB. Compose fewer objects. */
  InputTooLarge: false,
  /** The call has no token, or one that the runner does not know: the first line of `--token-file`. */
  Unauthenticated: false,
  /** The call exceeds a maximum, or its image or network is not allowed; the message names the flag. */
  PermissionDenied: false,
  /** The server does not know the method, or refuses compressed messages. */
  Unimplemented: false,
  /**
   * `--max-concurrent` and `--max-queued` are reached, or waiting inputs need too much memory. Or a caller with fewer
   * calls took the place, or the call would start after its deadline. Add runners.
   */
  QueueFull: true,
  /** A limit of gRPC is reached. */
  ResourceExhausted: true,
  /** The runner cannot be reached. */
  Unavailable: true,
  /** An internal error of the runner. The runner's log has the reason. Report it. */
  Internal: false,
} as const;

/** Error codes of a run, including failures of the function itself (its exit code, its output). */
export type RunnerErrorCode = keyof typeof RUN_ERRORS;

/** Further error codes of a service that runs functions: the request, the caller's rights, the service's state. */
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

/** Errors of a runner that is at its limits. The runner has not processed the call. */
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

/** The properties of an error that {@link isUndelivered} reads. */
interface FailedCall {
  readonly code?: unknown;
  readonly phase?: unknown;
  readonly retryable?: unknown;
  readonly undelivered?: unknown;
}
