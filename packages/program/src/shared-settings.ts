import { type ListenAddress, listenAddress } from "./listen-address.ts";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "./log-levels.ts";
import type { SettingsOf } from "./read-settings.ts";
import {
  anyText,
  choice,
  choiceAnyCase,
  cpu,
  durationOrNone,
  many,
  memory,
  one,
  optional,
  type Reader,
  toggle,
} from "./setting.ts";

// Settings that several programs have. Each is declared once, so that it has the same name, text and reader everywhere.

/** Settings of commands that read or write the image store. */
export interface StoreSettings {
  readonly cacheDir: string | undefined;
  readonly registry: string | undefined;
  readonly insecureRegistry: readonly string[];
}

export const STORE_SETTINGS: SettingsOf<StoreSettings> = {
  cacheDir: optional("cache-dir", "<dir>", "folder for images", anyText, { shown: "xfn in the user's cache folder" }),
  registry: optional("registry", "<host>", "registry for image names without one", anyText, { shown: "docker.io" }),
  insecureRegistry: many("insecure-registry", "<host>", "speak http to this registry", anyText, []),
};

/** Settings of commands that pull from registries. */
export interface RegistryAccessSettings {
  /** `REGISTRY=HOST[/PATH]` */
  readonly mirror: readonly string[];
  /** PEM files. */
  readonly registryCa: readonly string[];
  readonly trustedRealm: readonly string[];
}

export const REGISTRY_ACCESS_SETTINGS: SettingsOf<RegistryAccessSettings> = {
  mirror: many("mirror", "<registry=host>", "ask this host first for images of a registry", anyText, []),
  registryCa: many("registry-ca", "<file>", "trust certificates of these authorities too (PEM)", anyText, []),
  trustedRealm: many(
    "trusted-realm",
    "<host>",
    "send credentials to this token server, although it is not the registry's own host",
    anyText,
    [],
  ),
};

/** Settings of commands that run containers. */
export interface ContainerSettings {
  readonly rootfs: "auto" | "overlay" | "copy";
  readonly allowUnlimited: boolean;
  /** A name on PATH, or an absolute path. */
  readonly ociRuntime: string;
}

export const CONTAINER_SETTINGS: SettingsOf<ContainerSettings> = {
  rootfs: one(
    "rootfs",
    "<mode>",
    "how root filesystems are made: auto, overlay, copy",
    choice("auto", "overlay", "copy"),
    "auto",
    "auto",
  ),
  allowUnlimited: toggle("allow-unlimited", "run without a limit that this host cannot enforce"),
  ociRuntime: one(
    "oci-runtime",
    "<program>",
    "program that runs containers: crun, runc, youki, runsc",
    anyText,
    "crun",
    "crun",
  ),
};

/** The largest output of a function. @param usual the default in bytes @param most the largest in bytes */
export function outputSetting(usual: number, most: number): SettingsOf<{ maxOutput: number }>["maxOutput"] {
  const read = (text: string): number => {
    const bytes = memory(text);
    if (bytes <= most) return bytes;
    throw new Error(`${JSON.stringify(text)} must be at most ${most / MEBIBYTE}Mi`);
  };
  const help = "the most that a function may write to stdout";
  return one("max-output", "<quantity>", help, read, usual, `${usual / MEBIBYTE}Mi`);
}

const MEBIBYTE = 1024 * 1024;

/** Limits of one run. */
export interface LimitSettings {
  /** Bytes. */
  readonly memory: number | undefined;
  /** Cores. */
  readonly cpu: number | undefined;
}

export const LIMIT_SETTINGS: SettingsOf<LimitSettings> = {
  memory: optional("memory", "<quantity>", "memory limit, such as 64Mi", memory),
  cpu: optional("cpu", "<quantity>", "cpu limit, such as 250m", cpu),
};

/** Reads a pull policy. The historic runner wrote policies in lower case too. */
export const pullPolicy: Reader<"IfNotPresent" | "Always" | "Never"> = choiceAnyCase("IfNotPresent", "Always", "Never");

/** Certificate files of a TLS client. */
export interface TlsClientSettings {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly serverName: string | undefined;
}

/** Settings of a client of a runner. @param prefix of the flags: `runner-tls` for `--runner-tls-ca` */
export function tlsClientSettings(prefix: string, extras: { variable?: false } = {}): SettingsOf<TlsClientSettings> {
  const text = (name: string, value: string, help: string): SettingsOf<TlsClientSettings>["ca"] =>
    optional(`${prefix}-${name}`, value, help, anyText, extras);
  return {
    ca: text("ca", "<file>", "CA of the runner's certificate, for TCP with TLS"),
    cert: text("cert", "<file>", "own certificate for the runner (mTLS)"),
    key: text("key", "<file>", "its private key"),
    serverName: text("server-name", "<name>", "name in the runner's certificate, where it is not the endpoint's host"),
  };
}

/** Settings of a long-running program. */
export interface OperationSettings {
  readonly metricsAddress: ListenAddress | undefined;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** Milliseconds. */
  readonly shutdownGrace: number;
}

/** @param defaults the address of metrics, and the seconds and the meaning of `--shutdown-grace` */
export function operationSettings(defaults: {
  readonly metricsAddress: string;
  readonly graceSeconds: number;
  readonly grace: string;
}): SettingsOf<OperationSettings> {
  const { graceSeconds, grace } = defaults;
  return {
    metricsAddress: one(
      "metrics-address",
      "<[host:]port>",
      "HTTP for /metrics, /livez and /readyz, or off",
      listenAddress,
      listenAddress(defaults.metricsAddress),
      defaults.metricsAddress,
    ),
    logLevel: one("log-level", "<level>", LOG_LEVELS.join(", "), choice(...LOG_LEVELS), "info", "info"),
    logFormat: one("log-format", "<format>", LOG_FORMATS.join(", "), choice(...LOG_FORMATS), "json", "json"),
    shutdownGrace: one("shutdown-grace", "<duration>", grace, durationOrNone, graceSeconds * 1000, `${graceSeconds}s`),
  };
}
