import { totalmem } from "node:os";
import type { ServerOptions } from "@grpc/grpc-js";
import { DEFAULT_OUTPUT_BYTES } from "@xfn/runner-contract";
import type { CertificateFiles } from "../setup/certificate-files.ts";
import { RunnerSetupError } from "../setup/setup-error.ts";
import { MAX_MESSAGE_BYTES } from "../wire/limits.ts";
import type { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import type { AdmissionLimits } from "./admission.ts";
import type { CallOutcome, ForwardCall, ServedRunOptions } from "./perform-call.ts";

/** The functions to serve, the addresses, and the callers. */
export interface RunnerServerOptions {
  /**
   * Runs one function to its end. Errors with a `code` of the contract reach the caller with that code. The memory of
   * `input` is reused after the answer was sent.
   */
  run: (image: string, input: Uint8Array, options: ServedRunOptions) => Promise<Uint8Array>;
  /**
   * Passes a request of Crossplane's `FunctionRunnerService` to the server of a function, and returns its response. If
   * absent, that service is not served.
   */
  forward?: ForwardCall;
  /** The addresses to listen on, in any form that `parseEndpoint` accepts. */
  addresses: readonly string[];
  /**
   * A file with the tokens of callers on abstract and TCP sockets, one on each line. The file is read for each call.
   */
  tokenFile?: string | undefined;
  /** TLS on TCP sockets. With `caFile` it is mTLS: callers need a certificate of that CA, and no token. */
  tls?: (CertificateFiles & { certFile: string; keyFile: string }) | undefined;
  /** Accepts every caller on abstract and TCP sockets. Functions then do not get the runner's network. */
  insecureNoAuth?: boolean;
  /** Accepts tokens without TLS over TCP from other machines. For networks with their own encryption. */
  insecurePlaintext?: boolean;
  /** The largest number of concurrent runs. */
  maxConcurrent: number;
  /** The largest number of calls that wait for a slot. Further calls fail with `QueueFull` at once. */
  maxQueued: number;
  /**
   * Unreceived answers, in bytes, above which no run starts. Default: an eighth of the memory, but at least 16 MiB, the
   * answer of one function.
   */
  maxUnreceivedBytes?: number;
  /**
   * Memory for the messages of waiting calls, in bytes. A call above it fails with `QueueFull`, unless it waits alone.
   * Default: the default of `maxUnreceivedBytes`.
   */
  maxQueuedBytes?: number;
  /**
   * The time that a caller may take to send its message, and to receive its answer, in milliseconds. Default 60,000.
   */
  messageTimeoutMs?: number;
  /**
   * Closes connections without a call after this many milliseconds, so that silent clients do not occupy connections.
   * Clients reconnect on demand. Default 600,000.
   */
  idleTimeoutMs?: number;
  /**
   * The age at which a connection stops accepting calls, in milliseconds. Its running calls continue. Clients reconnect
   * and look up the name again, so that new runners get calls. Default 60,000.
   */
  connectionAgeMs?: number;
  /** gRPC's health service, and its initial state. None by default. */
  health?: { serving: boolean };
  /** gRPC's reflection service. */
  reflection?: boolean;
  /** The interval at which certificate files are read again, in milliseconds. Default 10,000. */
  refreshMs?: number;
  /** Called with the outcome of each admitted call. */
  onCall?: (outcome: CallOutcome) => void;
  /** Called for each rejected call, such as for a missing token or a full queue. */
  onRefused?: (error: RunnerGrpcError) => void;
  /**
   * Called for problems that an operator must fix while the server continues, such as certificate files that do not
   * match.
   */
  onWarning?: (message: string) => void;
}

/** Default of `messageTimeoutMs`. */
export const DEFAULT_MESSAGE_TIMEOUT_MS = 60_000;

/**
 * The share of the memory for unreceived answers, and the same share for waiting messages. The rest is for functions,
 * and for running calls, which hold copies of their answers.
 */
const MEMORY_SHARE = 1 / 8;

/** The admission limits of a server. */
export function admissionLimits(
  options: Pick<RunnerServerOptions, "maxConcurrent" | "maxQueued" | "maxUnreceivedBytes" | "maxQueuedBytes">,
): AdmissionLimits {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const share = Math.max(DEFAULT_OUTPUT_BYTES, Math.floor(memory * MEMORY_SHARE));
  const { maxConcurrent, maxQueued, maxUnreceivedBytes = share, maxQueuedBytes = share } = options;
  return { maxConcurrent, maxQueued, maxUnreceivedBytes, maxQueuedBytes };
}

const DEFAULT_IDLE_TIMEOUT_MS = 10 * 60_000;

// The longest time until a new runner gets calls. A new connection costs a few milliseconds.
const DEFAULT_CONNECTION_AGE_MS = 60_000;

// Streams of one connection in addition to the admissible ones. Their calls are rejected with a retry hint, and do not
// wait in the caller.
const SPARE_STREAMS = 128;

/** The options of the underlying gRPC server. */
export function serverOptions(options: RunnerServerOptions): ServerOptions {
  const { maxConcurrent, maxQueued, connectionAgeMs = DEFAULT_CONNECTION_AGE_MS } = options;
  return {
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_concurrent_streams": maxConcurrent + maxQueued + SPARE_STREAMS,
    "grpc.max_connection_idle_ms": idleTimeoutOf(options),
    // The grace period is unlimited by default: a limit would end running calls, which have deadlines.
    "grpc.max_connection_age_ms": connectionAgeMs,
  };
}

/** The longest time that a connection may have no call, in milliseconds. */
export function idleTimeoutOf({ idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS }: RunnerServerOptions): number {
  return idleTimeoutMs;
}

/** Checks the options that are numbers. @throws RunnerSetupError */
export function checkNumbers({
  maxConcurrent,
  maxQueued,
  messageTimeoutMs = 1,
  idleTimeoutMs = 1,
  connectionAgeMs = 1,
  maxUnreceivedBytes = 0,
  maxQueuedBytes = 0,
}: RunnerServerOptions): void {
  if (!Number.isSafeInteger(maxConcurrent) || maxConcurrent < 1) {
    throw new RunnerSetupError("InvalidOption", "maxConcurrent must be an integer of at least 1");
  }
  if (!Number.isSafeInteger(maxQueued) || maxQueued < 0) {
    throw new RunnerSetupError("InvalidOption", "maxQueued must be an integer of at least 0");
  }
  if (!(maxUnreceivedBytes >= 0)) {
    throw new RunnerSetupError("InvalidOption", "maxUnreceivedBytes must be at least 0");
  }
  if (!(maxQueuedBytes >= 0)) throw new RunnerSetupError("InvalidOption", "maxQueuedBytes must be at least 0");
  if (!(messageTimeoutMs > 0)) throw new RunnerSetupError("InvalidOption", "messageTimeoutMs must be greater than 0");
  if (!(idleTimeoutMs > 0)) throw new RunnerSetupError("InvalidOption", "idleTimeoutMs must be greater than 0");
  if (!(connectionAgeMs > 0)) throw new RunnerSetupError("InvalidOption", "connectionAgeMs must be greater than 0");
}
