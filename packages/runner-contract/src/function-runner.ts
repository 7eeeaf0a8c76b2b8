/**
 * Runs functions: crun containers in this process (@xfn/runner), a gRPC client (@xfn/runner-grpc), or plain functions
 * in a test (@xfn/pipeline/in-process).
 */
export interface FunctionRunner {
  /**
   * Runs one function to its end.
   *
   * @param image the OCI image, as the Composition names it
   * @param input the FunctionIO for the function's stdin, at most {@link MAX_PAYLOAD_BYTES}
   * @returns what the function wrote to stdout, at most {@link maxOutputBytes}
   * @throws an error with a string `code`, `retryable` and, where known, `phase` and `stderr` (bounded)
   */
  run(image: string, input: Uint8Array, options?: RunOptions): Promise<Uint8Array>;
  /** The largest output that it returns, in bytes. Default {@link DEFAULT_OUTPUT_BYTES}. */
  readonly maxOutputBytes?: number | undefined;
}

/** The types of functions that a call can ask for. Without one, the image decides. */
export const FUNCTION_TYPES = ["Chroot", "Wasm"] as const;

/** One of {@link FUNCTION_TYPES}. */
export type FunctionType = (typeof FUNCTION_TYPES)[number];

/** The phases of a call whose duration a runner reports. */
export type RunPhase = "pull" | "start" | "run";

/** Options of one call. Every field has a safe default. */
export interface RunOptions {
  /**
   * Absent: the image decides whether it runs in a container or as a WebAssembly module. `Wasm`: fails with
   * `ImageInvalid` unless it is a module. `Chroot`: a program gets a root filesystem and a user of its own, and no
   * other isolation. That requires `network: Accessible`, takes no limits, and fails with `ChrootUnavailable` unless
   * the runner's operator allows it.
   */
  type?: FunctionType | undefined;
  /** Name of the pipeline step, for messages. */
  step?: string | undefined;
  /**
   * Milliseconds that the function may run before it is killed; default {@link DEFAULT_TIMEOUT_MS}. The clock starts
   * when the input is delivered.
   */
  timeoutMs?: number | undefined;
  /** `Isolated` (default): a new network namespace without interfaces. `Accessible`: the runner's network. */
  network?: "Isolated" | "Accessible" | undefined;
  /** Memory limit in bytes. Fails with `LimitUnavailable` where the host cannot enforce it. */
  memoryBytes?: number | undefined;
  /** CPU limit in cores, such as 0.25. Fails with `LimitUnavailable` where the host cannot enforce it. */
  cpus?: number | undefined;
  /**
   * Limit of processes and threads; the OCI runtime's own few count too. Fails with `LimitUnavailable` where the host
   * cannot enforce it. The gRPC messages have no field for it: a gRPC client rejects it, and xfn-runner has
   * `--max-pids`.
   */
  pids?: number | undefined;
  /**
   * Returns the memory of an earlier output, which is no longer in use, for a large output of this call. The gRPC
   * messages have no field for it.
   */
  outputMemory?: (() => ArrayBuffer | undefined) | undefined;
  /** When to ask the registry; default `IfNotPresent`. */
  pullPolicy?: "IfNotPresent" | "Always" | "Never" | undefined;
  /** Credentials for the image's registry. */
  auth?: RegistryAuth | undefined;
  /** Cancels the call: the container is killed and reaped, then the promise rejects with `Aborted`. */
  signal?: AbortSignal | undefined;
  /** Receives the duration of each phase, in milliseconds. */
  onPhase?: ((phase: RunPhase, ms: number) => void) | undefined;
  /** Receives the end of stderr if the function wrote any, also when the call fails. */
  onStderr?: ((tail: string) => void) | undefined;
}

/** The limits that a host must enforce. */
export type ResourceLimits = Pick<RunOptions, "memoryBytes" | "cpus" | "pids">;

/** Credentials in the form of go-containerregistry's AuthConfig, which the gRPC messages use too. */
export interface RegistryAuth {
  username?: string;
  password?: string;
  auth?: string;
  identityToken?: string;
  registryToken?: string;
}

/** Crossplane's default for `container.timeout` (design document "Composition Functions"). */
export const DEFAULT_TIMEOUT_MS = 10_000;

/** The longest timeout of a call: one day. Node's timers support at most 24.8 days. */
export const MAX_TIMEOUT_MS: number = 24 * 60 * 60 * 1000;

/** The largest input of a function, and the largest output that an operator can allow, in bytes. */
export const MAX_PAYLOAD_BYTES: number = 100 * 1024 * 1024;

/** The largest output of a function, in bytes, unless an operator sets another limit. */
export const DEFAULT_OUTPUT_BYTES: number = 16 * 1024 * 1024;
