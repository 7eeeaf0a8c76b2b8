import {
  duration,
  one,
  type SettingsOf,
  settings,
  type TlsClientSettings,
  tlsClientSettings,
} from "@xfn/program/settings";
import { DEFAULT_ENDPOINT } from "@xfn/runner-grpc";

/** Settings of `xfn-runner healthcheck`. */
export interface HealthConfig extends TlsClientSettings<"tls"> {
  readonly address: string;
  /** Milliseconds. */
  readonly timeout: number;
}

// The variables with these names configure the server. Its certificate must not become the probe's client certificate.
const FLAG_ONLY = { variable: false } as const;

/** The flags, variables, defaults and parsers. */
export const HEALTH_SETTINGS: SettingsOf<HealthConfig> = settings({
  address: one("<endpoint>", "where it listens", firstEndpoint, DEFAULT_ENDPOINT),
  timeout: one("<duration>", "how long to wait for its answer", duration, "5s", FLAG_ONLY),
  ...tlsClientSettings("tls", FLAG_ONLY),
});

// The server's variable can contain several endpoints.
function firstEndpoint(text: string): string {
  return text.split(",")[0] ?? text;
}
