import { duration, one, type SettingsOf, tlsClientSettings } from "@xfn/program/settings";
import { DEFAULT_ENDPOINT } from "@xfn/runner-grpc";

/** Settings of `xfn-runner healthcheck`. */
export interface HealthConfig {
  readonly address: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly tlsCa: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly tlsServerName: string | undefined;
}

const DEFAULT_TIMEOUT_MS = 5_000;

// The variables with these names configure the server. Its certificate must not become the probe's client certificate.
const FLAG_ONLY = { variable: false } as const;

const TLS = tlsClientSettings("tls", FLAG_ONLY);

/** The flags, variables, defaults and parsers. */
export const HEALTH_SETTINGS: SettingsOf<HealthConfig> = {
  address: one("address", "<endpoint>", "where it listens", firstEndpoint, DEFAULT_ENDPOINT, DEFAULT_ENDPOINT),
  timeout: one(
    "timeout",
    "<duration>",
    "how long to wait for its answer",
    duration,
    DEFAULT_TIMEOUT_MS,
    "5s",
    FLAG_ONLY,
  ),
  tlsCa: TLS.ca,
  tlsCert: TLS.cert,
  tlsKey: TLS.key,
  tlsServerName: TLS.serverName,
};

// The server's variable can contain several endpoints.
function firstEndpoint(text: string): string {
  return text.split(",")[0] ?? text;
}
