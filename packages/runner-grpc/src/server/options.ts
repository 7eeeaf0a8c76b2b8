import { totalmem } from "node:os";
import type { ServerOptions } from "@grpc/grpc-js";
import { DEFAULT_OUTPUT_BYTES } from "@xfn/runner-contract";
import type { CertificateFiles } from "../setup/certificate-files.ts";
import { RunnerSetupError } from "../setup/setup-error.ts";
import { MAX_MESSAGE_BYTES } from "../wire/limits.ts";
import type { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import type { AdmissionLimits } from "./admission.ts";
import type { CallOutcome, ForwardCall, ServedRunOptions } from "./perform-call.ts";

/** What to serve, where, and to which callers. */
export interface RunnerServerOptions {
  /**
   * Runs one function to its end. Errors with a `code` of the contract keep it on their way to the caller. The memory
   * of `input` is used again after the answer has left.
   */
  run: (image: string, input: Uint8Array, options: ServedRunOptions) => Promise<Uint8Array>;
  /**
   * Passes a request of Crossplane's `FunctionRunnerService` on to the server of a function, and returns its response.
   * Without it that service is not served.
   */
  forward?: ForwardCall;
  /** Where to listen: any spelling that `parseEndpoint` reads. */
  addresses: readonly string[];
  /** Tokens of callers on abstract and TCP sockets, one a line. Read again for each call. */
  tokenFile?: string | undefined;
  /** TLS on TCP sockets. With `caFile` it is mTLS: callers need a certificate of that CA, and no token. */
  tls?: (CertificateFiles & { certFile: string; keyFile: string }) | undefined;
  /** Accepts every caller on abstract and TCP sockets. No function then gets the runner's network. */
  insecureNoAuth?: boolean;
  /** Accepts tokens without TLS over TCP from other machines. For networks that encrypt by themselves. */
  insecurePlaintext?: boolean;
  /** Maximum of concurrent runs. */
  maxConcurrent: number;
  /** Maximum of calls that wait for a run to end. Further calls fail with `QueueFull` at once. */
  maxQueued: number;
  /**
   * No run starts while callers have more bytes of answers to receive. Default: an eighth of the memory, at least the
   * answer of one function, 16 MiB.
   */
  maxUnreceivedBytes?: number;
  /**
   * Memory for the messages of calls that wait. A call over it fails with `QueueFull`, unless it waits alone. Default:
   * as of `maxUnreceivedBytes`.
   */
  maxQueuedBytes?: number;
  /** How long a caller may take to send its message, and to receive its answer, in milliseconds. Default 60,000. */
  messageTimeoutMs?: number;
  /**
   * Closes connections without a call after so many milliseconds, so that no client occupies one by silence. Clients
   * connect again on demand. Default 600,000.
   */
  idleTimeoutMs?: number;
  /**
   * The age at which a connection takes no further calls, in milliseconds. Its running calls go on. Clients connect
   * again and look up the name again, so that new runners get calls. Default 60,000.
   */
  connectionAgeMs?: number;
  /** gRPC's health service, and its initial state. None by default. */
  health?: { serving: boolean };
  /** gRPC's reflection service. */
  reflection?: boolean;
  /** How often certificate files are read again, in milliseconds. Default 10,000. */
  refreshMs?: number;
  /** Called with the outcome of each admitted call. */
  onCall?: (outcome: CallOutcome) => void;
  /** Called for each rejected call: no token, a full queue. */
  onRefused?: (error: RunnerGrpcError) => void;
  /** Called with problems that an operator must fix while the server goes on: certificate files that do not match. */
  onWarning?: (message: string) => void;
}

/** Default of `messageTimeoutMs`. */
export const DEFAULT_MESSAGE_TIMEOUT_MS = 60_000;

/**
 * For answers that leave, and as much for messages that wait. The rest is for running calls, which hold copies of their
 * answers, and for functions.
 */
const MEMORY_SHARE = 1 / 8;

/** What a server admits. */
export function admissionLimits(
  options: Pick<RunnerServerOptions, "maxConcurrent" | "maxQueued" | "maxUnreceivedBytes" | "maxQueuedBytes">,
): AdmissionLimits {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const share = Math.max(DEFAULT_OUTPUT_BYTES, Math.floor(memory * MEMORY_SHARE));
  const { maxConcurrent, maxQueued, maxUnreceivedBytes = share, maxQueuedBytes = share } = options;
  return { maxConcurrent, maxQueued, maxUnreceivedBytes, maxQueuedBytes };
}

const DEFAULT_IDLE_TIMEOUT_MS = 10 * 60_000;

// A new runner gets calls within this time. A new connection costs a few milliseconds.
const DEFAULT_CONNECTION_AGE_MS = 60_000;

// Streams of one connection beyond the admissible ones. Their calls are rejected with a retry hint instead of waiting
// at the caller.
const SPARE_STREAMS = 128;

/** The options of the underlying gRPC server. */
export function serverOptions(options: RunnerServerOptions): ServerOptions {
  const { maxConcurrent, maxQueued, connectionAgeMs = DEFAULT_CONNECTION_AGE_MS } = options;
  return {
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_concurrent_streams": maxConcurrent + maxQueued + SPARE_STREAMS,
    "grpc.max_connection_idle_ms": idleTimeoutOf(options),
    // The grace period is unlimited by default: it would end running calls, which have deadlines.
    "grpc.max_connection_age_ms": connectionAgeMs,
  };
}

/** How long a connection may have no call, in milliseconds. */
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
