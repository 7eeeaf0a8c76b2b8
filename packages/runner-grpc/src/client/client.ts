import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  type ClientUnaryCall,
  credentials,
  experimental,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import type { RunOptions } from "@xfn/runner-contract";
import { DEFAULT_TIMEOUT_MS, type FunctionRunner } from "@xfn/runner-contract";
import { RunFunctionResponse } from "../generated/apiextensions/fn/proto/v1alpha1/run_function.ts";
import { type CertificateFiles, CertificateWatcher } from "../setup/certificate-files.ts";
import { type Endpoint, parseEndpoint } from "../setup/endpoint.ts";
import { RunnerSetupError } from "../setup/setup-error.ts";
import { openTokenFile, type TokenFile } from "../setup/token-file.ts";
import { readReport, STEP_KEY } from "../wire/call-trailers.ts";
import {
  DEADLINE_SLACK_MS,
  DEFAULT_MARGIN_MS,
  MAX_MESSAGE_BYTES,
  MAX_STEP_BYTES,
  MAX_TIMEOUT_MS,
} from "../wire/limits.ts";
import { encodeRequest } from "../wire/request.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { RUN_FUNCTION } from "../wire/service-definition.ts";
import { errorOfCall } from "./error-of-call.ts";

/** How to reach a runner. */
export interface RunnerClientOptions {
  /** Any spelling that `parseEndpoint` reads. */
  endpoint: string;
  /** A file whose first line is sent as bearer token. It is read for each call. */
  tokenFile?: string;
  /** TLS: the CA of the runner's certificate, and, for mTLS, the own certificate. Only for TCP. */
  tls?: CertificateFiles & {
    /** The name in the runner's certificate, where it is not the endpoint's host. */
    serverName?: string;
  };
  /** Sends the token without TLS over TCP to another machine. For networks that encrypt by themselves. */
  insecurePlaintext?: boolean;
  /** Added to a call's timeout for its deadline, in milliseconds: waiting, pulling. Default 60,000. */
  marginMs?: number;
  /** How often certificate files are read again, in milliseconds. Default 10,000. */
  refreshMs?: number;
}

/** A connection to a runner, made on demand and again after it is lost. `run` rejects with a `RunnerGrpcError`. */
export interface RunnerClient extends FunctionRunner {
  /** Connects. @throws RunnerGrpcError `Unavailable` if that takes longer */
  ready(timeoutMs: number): Promise<void>;
  /** Ends calls that are under way (`Closed`), then the connection. */
  close(): void;
}

// A runner that restarts is back within a second or two; grpc-js would wait for up to two minutes.
const MAX_RECONNECT_BACKOFF_MS = 2_000;

// Other implementations take pings more often than every five minutes for an attack.
const KEEPALIVE_MS = 6 * 60_000;

// With the 64 KiB that HTTP/2 starts with, a large answer waits for a round trip of the network every 64 KiB. It is the one end only that may have
// a large window: Node reads nothing from a connection while a write of its own waits for the other end, so that two of them, with
// more on its way in both directions than sockets hold, would wait for each other for ever.
const FLOW_CONTROL_WINDOW = 4 * 1024 * 1024;

/** A client of a runner. Nothing is dialled yet. @throws RunnerSetupError */
export function createRunnerClient(options: RunnerClientOptions): RunnerClient {
  const endpoint = parseEndpoint(options.endpoint);
  const token = options.tokenFile === undefined ? undefined : openTokenFile(options.tokenFile);
  const marginMs = options.marginMs ?? DEFAULT_MARGIN_MS;
  if (!(marginMs >= 0 && marginMs <= MAX_TIMEOUT_MS)) {
    throw new RunnerSetupError("InvalidOption", `marginMs is to be 0 or more, and at most ${MAX_TIMEOUT_MS}`);
  }
  const client = new Client(endpoint.target, channelCredentials(endpoint, options), channelOptions(endpoint, options));
  const calls = new Set<ClientUnaryCall>();
  let closed = false;

  return {
    async run(image, input, runOptions = {}) {
      const context = { image, step: runOptions.step, endpoint: endpoint.text };
      const refuse = (code: string, message: string, cause?: unknown): RunnerGrpcError =>
        new RunnerGrpcError(code, message, {
          image,
          ...(context.step === undefined ? {} : { step: context.step }),
          cause,
        });
      if (closed) throw refuse("Closed", `the client of the runner at ${endpoint.text} is closed`);
      const { signal } = runOptions;
      if (signal?.aborted === true) throw refuse("Aborted", `the call of ${image} was aborted`, signal.reason);
      const request = encodeRequest(image, input, runOptions);
      const metadata = requestMetadata(runOptions.step, token, refuse);
      const deadline = Date.now() + (runOptions.timeoutMs ?? DEFAULT_TIMEOUT_MS) + marginMs;
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
      const done = (failure: ServiceError | null, response?: Uint8Array): void => {
        calls.delete(call);
        signal?.removeEventListener("abort", abort);
        if (failure === null) return resolve(response ?? new Uint8Array());
        if (signal?.aborted === true)
          return reject(refuse("Aborted", `the call of ${image} was aborted`, signal.reason));
        if (closed) return reject(refuse("Closed", `the client was closed while ${image} ran`));
        const deadlinePassed = Date.now() >= deadline - DEADLINE_SLACK_MS;
        reject(errorOfCall(failure, { ...context, deadlinePassed }));
      };
      const { path, requestSerialize, responseDeserialize } = RUN_FUNCTION;
      const call = client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        { deadline },
        done,
      );
      const abort = (): void => call.cancel();
      calls.add(call);
      // Emitted in the same turn as `done` is called, thus before the promise goes on.
      let trailers: Metadata | undefined;
      call.on("status", (status) => {
        trailers = status.metadata;
      });
      signal?.addEventListener("abort", abort, { once: true });
      try {
        return output(await promise, refuse);
      } catch (thrown) {
        if (thrown instanceof RunnerGrpcError && thrown.stderr !== undefined) runOptions.onStderr?.(thrown.stderr);
        throw thrown;
      } finally {
        if (trailers !== undefined) readReport(trailers, runOptions);
      }
    },
    ready(timeoutMs) {
      return new Promise((resolve, reject) => {
        client.waitForReady(Date.now() + timeoutMs, (cause) => {
          if (cause === undefined) return resolve();
          reject(
            new RunnerGrpcError("Unavailable", `no runner answers at ${endpoint.text}: ${cause.message}`, { cause }),
          );
        });
      });
    },
    close() {
      closed = true;
      for (const call of calls) call.cancel();
      client.close();
    },
  };
}

type Refuse = (code: string, message: string, cause?: unknown) => RunnerGrpcError;

function output(response: Uint8Array, refuse: Refuse): Uint8Array {
  try {
    return RunFunctionResponse.decode(response).output;
  } catch (cause) {
    throw refuse(
      "Internal",
      "the runner's answer is not a RunFunctionResponse: is something else listening there?",
      cause,
    );
  }
}

function requestMetadata(step: string | undefined, token: TokenFile | undefined, refuse: Refuse): Metadata {
  const metadata = new Metadata();
  if (step !== undefined && step !== "") {
    metadata.set(STEP_KEY, Buffer.from(step, "utf8").subarray(0, MAX_STEP_BYTES));
  }
  if (token === undefined) return metadata;
  try {
    metadata.set("authorization", `Bearer ${token.current()}`);
  } catch (cause) {
    // The file was there at the start: it may be about to be replaced.
    throw refuse("Unavailable", cause instanceof Error ? cause.message : "the token file is not usable", cause);
  }
  return metadata;
}

/** The credentials of a connection. @throws RunnerSetupError */
export function channelCredentials(endpoint: Endpoint, options: RunnerClientOptions): ChannelCredentials {
  const { tls, tokenFile, insecurePlaintext = false, refreshMs } = options;
  if (tls === undefined) {
    if (endpoint.kind === "tcp" && tokenFile !== undefined && !endpoint.loopback && !insecurePlaintext) {
      const way = "give tls, or insecurePlaintext where the network itself encrypts";
      throw new RunnerSetupError(
        "PlaintextRefused",
        `the token would be sent to ${endpoint.text} in the clear: ${way}`,
      );
    }
    return credentials.createInsecure();
  }
  if (endpoint.kind !== "tcp") {
    throw new RunnerSetupError("InvalidOption", `${endpoint.text} is a socket of this machine, where there is no TLS`);
  }
  if (tls.caFile === undefined)
    throw new RunnerSetupError("InvalidOption", "tls needs caFile, the CA of the runner's certificate");
  const watcher = new CertificateWatcher(tls, refreshMs);
  const identity = tls.certFile === undefined ? null : watcher;
  return experimental.createCertificateProviderChannelCredentials(watcher, identity);
}

/** The options of a connection. */
export function channelOptions(endpoint: Endpoint, { tls }: RunnerClientOptions): ClientOptions {
  return {
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": MAX_RECONNECT_BACKOFF_MS,
    // Runs are not repeated unasked: whoever calls decides that, and buffers for it would hold each input twice.
    "grpc.enable_retries": 0,
    // A proxy of the environment is for the internet; gRPC's sockets and services inside a cluster are not there.
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
    ...(endpoint.kind === "tcp"
      ? { "grpc.keepalive_time_ms": KEEPALIVE_MS, "grpc-node.flow_control_window": FLOW_CONTROL_WINDOW }
      : {}),
    ...(tls?.serverName === undefined
      ? {}
      : { "grpc.ssl_target_name_override": tls.serverName, "grpc.default_authority": tls.serverName }),
  };
}
