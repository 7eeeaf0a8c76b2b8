import { anyText, many, one, optional, type SettingsOf, tlsClientSettings } from "@xfn/program/settings";
import { ENGINE_SETTINGS, type EngineConfig } from "@xfn/runner/settings";

/** Settings of the runner that the controller calls, and of the one in its own process. */
export interface RunnerSettings extends EngineConfig {
  /** An endpoint, or {@link IN_PROCESS}. */
  readonly runner: string;
  readonly allowedRunners: readonly string[];
  readonly runnerTokenFile: string | undefined;
  readonly runnerTlsCa: string | undefined;
  readonly runnerTlsCert: string | undefined;
  readonly runnerTlsKey: string | undefined;
  readonly runnerTlsServerName: string | undefined;
}

/** The socket of the runner in the same pod (deploy/). A path socket needs no token. */
const SIDECAR_ENDPOINT = "unix:/run/xfn/runner.sock";

/** In place of an endpoint: the runner is a part of this process. */
export const IN_PROCESS = "in-process";

const RUNNER_TLS = tlsClientSettings("runner-tls");

/** The flags, variables, defaults and readers. A runner in this process has the settings of `xfn-runner serve`. */
export const RUNNER_SETTINGS: SettingsOf<RunnerSettings> = {
  runner: one(
    "runner",
    "<endpoint>",
    "endpoint of the runner: unix:/PATH, unix:///@NAME, HOST:PORT; or in-process, for one in this process",
    anyText,
    SIDECAR_ENDPOINT,
    SIDECAR_ENDPOINT,
  ),
  allowedRunners: many(
    "allowed-runners",
    "<endpoint>",
    "other runners that steps may name in container.runner.endpoint",
    anyText,
    [],
    "none",
  ),
  runnerTokenFile: optional("runner-token-file", "<file>", "token for the runner; read for each call", anyText),
  runnerTlsCa: RUNNER_TLS.ca,
  runnerTlsCert: RUNNER_TLS.cert,
  runnerTlsKey: RUNNER_TLS.key,
  runnerTlsServerName: RUNNER_TLS.serverName,
  ...ENGINE_SETTINGS,
};

/** Settings that the controller uses without a runner in its process too. */
const SHARED: ReadonlySet<string> = new Set<keyof EngineConfig>([
  "maxOutput",
  "insecureRegistry",
  "mirror",
  "registryCa",
  "trustedRealm",
]);

/** Settings of a runner in this process alone. */
export const IN_PROCESS_KEYS: readonly (keyof EngineConfig)[] = keysOf(ENGINE_SETTINGS).filter(
  (key) => !SHARED.has(key),
);

function keysOf<T extends object>(settings: T): readonly (keyof T)[] {
  return Object.keys(settings) as (keyof T)[];
}

/**
 * The problems of the settings of a runner with each other.
 *
 * @param isEnabled whether functions are enabled
 */
export function checkRunnerSettings(config: RunnerSettings, isEnabled: boolean): string[] {
  return config.runner === IN_PROCESS ? inProcessConflicts(config, isEnabled) : strayFlags(config);
}

function inProcessConflicts(config: RunnerSettings, isEnabled: boolean): string[] {
  const problems: string[] = [];
  if (!isEnabled) problems.push("--runner in-process requires --enable-composition-functions");
  if (config.runnerTokenFile !== undefined)
    problems.push("--runner-token-file has no effect with --runner in-process: remove it");
  const { runnerTlsCa, runnerTlsCert, runnerTlsKey, runnerTlsServerName } = config;
  const tls = [runnerTlsCa, runnerTlsCert, runnerTlsKey, runnerTlsServerName].some((file) => file !== undefined);
  if (tls && config.allowedRunners.length === 0)
    problems.push(
      "--runner-tls-* settings have no effect with --runner in-process and no --allowed-runners: remove them",
    );
  return problems;
}

/** A flag without an effect is a mistake of the operator. */
function strayFlags(config: RunnerSettings): string[] {
  const stray = IN_PROCESS_KEYS.filter((key) => !isStandard(config[key], ENGINE_SETTINGS[key].standard));
  return stray.map(
    (key) => `--${ENGINE_SETTINGS[key].name} requires --runner in-process: otherwise it is a setting of xfn-runner`,
  );
}

function isStandard(value: unknown, standard: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : value === standard;
}
