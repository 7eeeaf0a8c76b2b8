/** Options of one call, as runners and pipelines have them. Every field has a safe default, which is the runner's. */
export interface RunOptions {
  /** The pipeline step, for messages. */
  step?: string;
  /** Milliseconds that the function may run, from when its container starts. */
  timeoutMs?: number;
  /** `Isolated` (default): a network namespace of its own. `Accessible`: the runner's network. */
  network?: "Isolated" | "Accessible";
  /** Memory limit in bytes. */
  memoryBytes?: number;
  /** CPU limit in cores, such as 0.25; thousandths count. */
  cpus?: number;
  /** When to ask the registry. */
  pullPolicy?: "IfNotPresent" | "Always" | "Never";
  /** Credentials for the image's own registry. */
  auth?: RegistryAuth;
  /** Ends the call. */
  signal?: AbortSignal;
  /** Told how long each phase took, in milliseconds. */
  onPhase?: (phase: "pull" | "start" | "run", ms: number) => void;
  /** Given the end of what the function wrote to stderr, where it wrote something. */
  onStderr?: (tail: string) => void;
}

/** Credentials for a registry, in the form of a Docker config file's entry. */
export interface RegistryAuth {
  username?: string;
  password?: string;
  auth?: string;
  identityToken?: string;
  registryToken?: string;
}
