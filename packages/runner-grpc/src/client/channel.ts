import { type ChannelCredentials, Client, type ClientOptions, credentials, experimental } from "@grpc/grpc-js";
import { DEFAULT_OUTPUT_BYTES, MAX_PAYLOAD_BYTES } from "@xfn/runner-contract";
import { type CertificateFiles, CertificateWatcher } from "../setup/certificate-files.ts";
import type { Endpoint } from "../setup/endpoint.ts";
import { RunnerSetupError } from "../setup/setup-error.ts";
import { MAX_ENVELOPE_BYTES, MAX_MESSAGE_BYTES } from "../wire/limits.ts";
import { MeteredCredentials } from "./metered-credentials.ts";

/** How to reach a runner. */
export interface RunnerClientOptions {
  /** An endpoint in any form that `parseEndpoint` accepts. */
  endpoint: string;
  /** A file whose first line is sent as bearer token. The file is read for each call. */
  tokenFile?: string | undefined;
  /** TLS: the CA of the runner's certificate and, for mTLS, the client's certificate. Only for TCP. */
  tls?:
    | (CertificateFiles & {
        /** The name in the runner's certificate, if it differs from the endpoint's host. */
        serverName?: string | undefined;
      })
    | undefined;
  /** Sends the token without TLS over TCP to another machine. For networks with their own encryption. */
  insecurePlaintext?: boolean | undefined;
  /**
   * Time to add to a call's timeout for its deadline, in milliseconds. Covers the queue and the pull. Default 60,000.
   */
  marginMs?: number | undefined;
  /**
   * The largest output, in bytes, at most {@link MAX_PAYLOAD_BYTES}. Larger outputs are not received. Default 16 MiB.
   */
  maxOutputBytes?: number | undefined;
  /** The interval at which certificate files are read again, in milliseconds. Default 10,000. */
  refreshMs?: number | undefined;
}

// A runner that restarts is back within a second or two; grpc-js would wait for up to two minutes.
const MAX_RECONNECT_BACKOFF_MS = 2_000;

// A name can resolve to several runners, as the name of a headless Service does. By default, grpc-js uses one address.
const BALANCED = JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }], methodConfig: [] });

// The default of 30 seconds is as long as a rollout of runners. The new runners would get no calls in that time.
const MIN_RESOLUTION_INTERVAL_MS = MAX_RECONNECT_BACKOFF_MS;

// Other implementations treat pings more often than every five minutes as an attack.
const KEEPALIVE_MS = 6 * 60_000;

// With HTTP/2's initial window of 64 KiB, a large answer waits for a network round trip every 64 KiB. Only one end
// may have a large window: Node reads nothing from a connection while its own write waits for the other end. Two ends
// with large windows could therefore wait for each other for ever.
const FLOW_CONTROL_WINDOW = 4 * 1024 * 1024;

/** A gRPC client for an endpoint. It connects on the first call. @throws RunnerSetupError */
export function openChannel(endpoint: Endpoint, options: RunnerClientOptions): Client {
  const metered = new MeteredCredentials(channelCredentials(endpoint, options));
  return new Client(endpoint.target, metered, channelOptions(endpoint, options));
}

function channelCredentials(endpoint: Endpoint, options: RunnerClientOptions): ChannelCredentials {
  const { tls, tokenFile, insecurePlaintext = false, refreshMs } = options;
  if (tls === undefined) {
    if (endpoint.kind === "tcp" && tokenFile !== undefined && !endpoint.loopback && !insecurePlaintext) {
      const way = "set tls, or insecurePlaintext if the network itself encrypts";
      throw new RunnerSetupError(
        "PlaintextRefused",
        `the token would be sent to ${endpoint.text} in the clear: ${way}`,
      );
    }
    return credentials.createInsecure();
  }
  if (endpoint.kind !== "tcp") {
    throw new RunnerSetupError("InvalidOption", `${endpoint.text} is a local socket, and TLS requires TCP`);
  }
  if (tls.caFile === undefined)
    throw new RunnerSetupError("InvalidOption", "tls requires caFile, the CA of the runner's certificate");
  const watcher = new CertificateWatcher(tls, refreshMs);
  const identity = tls.certFile === undefined ? null : watcher;
  return experimental.createCertificateProviderChannelCredentials(watcher, identity);
}

/** The largest output of the client's calls, in bytes. */
export function maxOutputOf({ maxOutputBytes = DEFAULT_OUTPUT_BYTES }: RunnerClientOptions): number {
  return Math.min(maxOutputBytes, MAX_PAYLOAD_BYTES);
}

/** The largest answer of the client's calls, in bytes. */
export function maxAnswerOf(options: RunnerClientOptions): number {
  return maxOutputOf(options) + MAX_ENVELOPE_BYTES;
}

function channelOptions(endpoint: Endpoint, options: RunnerClientOptions): ClientOptions {
  const { tls } = options;
  return {
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_receive_message_length": maxAnswerOf(options),
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": MAX_RECONNECT_BACKOFF_MS,
    // Retries are the caller's decision, and their buffers would hold each input twice.
    "grpc.enable_retries": 0,
    // Proxies in the environment are for the internet; runners listen on local sockets or inside the cluster.
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
    "grpc.dns_min_time_between_resolutions_ms": MIN_RESOLUTION_INTERVAL_MS,
    // The addresses of `localhost` belong to one runner: IPv4 and IPv6.
    ...(endpoint.kind === "tcp" && !endpoint.loopback ? { "grpc.service_config": BALANCED } : {}),
    ...(endpoint.kind === "tcp"
      ? { "grpc.keepalive_time_ms": KEEPALIVE_MS, "grpc-node.flow_control_window": FLOW_CONTROL_WINDOW }
      : {}),
    ...(tls?.serverName === undefined
      ? {}
      : { "grpc.ssl_target_name_override": tls.serverName, "grpc.default_authority": tls.serverName }),
  };
}
