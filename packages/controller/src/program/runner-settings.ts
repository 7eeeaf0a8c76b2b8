import {
  anyText,
  one,
  type SettingsOf,
  settings,
  type TlsClientSettings,
  text,
  texts,
  tlsClientOptions,
  tlsClientSettings,
} from "@xfn/program/settings";
import { ENGINE_SETTINGS, type EngineConfig } from "@xfn/runner/settings";

/** Settings of the runner that the controller calls, and of the one in its own process. */
export interface RunnerSettings extends EngineConfig, CalledRunner {}

interface CalledRunner extends TlsClientSettings<"runnerTls">, Pick<EngineConfig, "maxOutput"> {
  /** An endpoint, or {@link IN_PROCESS}. */
  readonly runner: string;
  readonly allowedRunners: readonly string[];
  readonly runnerTokenFile: string | undefined;
}

/** The socket of the runner in the same pod (deploy/). A path socket needs no token. */
const SIDECAR_ENDPOINT = "unix:/run/xfn/runner.sock";

/** In place of an endpoint: the runner is a part of this process. */
export const IN_PROCESS = "in-process";

const { maxOutput, insecureRegistry, mirror, registryCa, trustedRealm, ...others } = ENGINE_SETTINGS;

/** The flags, variables, defaults and readers. */
export const RUNNER_SETTINGS: SettingsOf<CalledRunner> = settings({
  runner: one(
    "<endpoint>",
    "endpoint of the runner: unix:/PATH, unix:///@NAME, HOST:PORT; or in-process, for one in this process",
    anyText,
    SIDECAR_ENDPOINT,
  ),
  allowedRunners: texts("<endpoint>", "other runners that steps may name in container.runner.endpoint", {
    shown: "none",
  }),
  runnerTokenFile: text("<file>", "token for the runner; read for each call"),
  ...tlsClientSettings("runnerTls"),
  maxOutput,
});

type RegistryKey = "insecureRegistry" | "mirror" | "registryCa" | "trustedRealm";

/** The controller pulls packages without a runner in its process too. */
export const REGISTRY_SETTINGS: SettingsOf<Pick<EngineConfig, RegistryKey>> = {
  insecureRegistry,
  mirror,
  registryCa,
  trustedRealm,
};

/** Settings of a runner in this process alone, as those of `xfn-runner serve`. */
export const IN_PROCESS_SETTINGS: SettingsOf<Omit<EngineConfig, RegistryKey | "maxOutput">> = others;

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
  if (tlsClientOptions("runnerTls", config) !== undefined && config.allowedRunners.length === 0)
    problems.push(
      "--runner-tls-* settings have no effect with --runner in-process and no --allowed-runners: remove them",
    );
  return problems;
}

/** A flag without an effect is a mistake of the operator. */
function strayFlags(config: RunnerSettings): string[] {
  return Object.entries(IN_PROCESS_SETTINGS)
    .filter(([key, { standard }]) => !isStandard(config[key as keyof RunnerSettings], standard))
    .map(([, { name }]) => `--${name} requires --runner in-process: otherwise it is a setting of xfn-runner`);
}

function isStandard(value: unknown, standard: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : value === standard;
}
