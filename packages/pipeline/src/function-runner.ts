/**
 * Runs functions. A runner is anything with this method: crun containers in this process (@xfn/runner), a gRPC client,
 * or plain functions in a test (@xfn/pipeline/in-process).
 */
export interface FunctionRunner {
  /**
   * Runs one function to its end.
   *
   * @param image the OCI image, as the Composition names it
   * @param input the FunctionIO for the function's stdin
   * @returns what the function wrote to stdout
   * @throws an error with a string `code` and, where it has them, `phase`, `stderr` (bounded) and `retryable`
   */
  run(image: string, input: Uint8Array, options?: RunOptions): Promise<Uint8Array>;
}

/** The phases of a call that a runner reports. */
export type RunPhase = "pull" | "start" | "run";

/** Options of one call. A runner has a safe default for each. */
export interface RunOptions {
  /** The pipeline step, for messages. */
  step?: string;
  /** Milliseconds that the function may run; default 10,000. The clock starts when its container does. */
  timeoutMs?: number;
  /** Default `Isolated`. */
  network?: "Isolated" | "Accessible";
  /** Memory limit in bytes. */
  memoryBytes?: number;
  /** CPU limit as a fraction of cores (0.25). */
  cpus?: number;
  /** Default `IfNotPresent`. */
  pullPolicy?: "IfNotPresent" | "Always" | "Never";
  /** Credentials for the image's registry. */
  auth?: RegistryAuth;
  /** Ends the call. */
  signal?: AbortSignal;
  /** Told how long each phase took, in milliseconds. */
  onPhase?: (phase: RunPhase, ms: number) => void;
  /** Given the end of what the function wrote to stderr (bounded by the runner), also when it succeeded. */
  onStderr?: (tail: string) => void;
}

/** Credentials in the form of go-containerregistry's AuthConfig, which the runner contract uses. */
export interface RegistryAuth {
  username?: string;
  password?: string;
  auth?: string;
  identityToken?: string;
  registryToken?: string;
}
