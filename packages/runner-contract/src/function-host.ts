import type { Duplex } from "node:stream";
import type { RunOptions } from "./function-runner.ts";

/**
 * Serves functions that are gRPC servers (the packages of Crossplane 1.14 and later): starts the server of an image in
 * a sandbox of its own, keeps it for many calls, and ends it once it is idle.
 */
export interface FunctionHost {
  /**
   * Starts the server of an image, unless a server with the same image and options is running. Calls of one server can
   * share state: `fresh` starts a server for this caller only.
   *
   * @param image the OCI image or package, as the Composition or the Function names it
   * @returns the server; the caller must release it
   * @throws an error with a string `code`, `retryable` and, where known, `phase` and `stderr` (bounded)
   */
  serve(image: string, options?: ServeOptions): Promise<ServedFunction>;
}

/** A function's server that accepts connections. */
export interface ServedFunction {
  /**
   * Opens a connection to the server's TCP port, without TLS. The caller owns the socket. The promise rejects with an
   * error with `code` and `stderr` if the server exited or does not listen in time.
   */
  connect(signal?: AbortSignal): Promise<Duplex>;
  /** The number of bytes that the server has written to stderr so far. */
  written(): number;
  /**
   * The end of the server's stderr, after its first `since` bytes; default 0. Includes everything that the server wrote
   * before an answer that the caller has received.
   */
  stderr(since?: number): Promise<string>;
  /** Allows the host to end the server once no caller uses it. The caller must close its connections first. */
  release(): void;
}

/** Options of one served function. Every field has a safe default. */
export interface ServeOptions
  extends Pick<RunOptions, "step" | "network" | "memoryBytes" | "cpus" | "pids" | "pullPolicy" | "auth"> {
  /** Milliseconds that the server may take from its start to its first accepted connection; default 20,000. */
  startTimeoutMs?: number | undefined;
  /** Environment variables in addition to those of the image. On conflict, these take precedence. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Starts a server for this caller only, which ends on release. */
  fresh?: boolean | undefined;
  /** Cancels the start. */
  signal?: AbortSignal | undefined;
  /** Receives the duration of each phase of a start, in milliseconds; nothing if the server ran already. */
  onPhase?: ((phase: "pull" | "start", ms: number) => void) | undefined;
}
