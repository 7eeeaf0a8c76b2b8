import { type ListenAddress, listenAddress } from "./listen-address.ts";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "./log-levels.ts";
import {
  anyText,
  choice,
  choiceAnyCase,
  cpu,
  durationOrNone,
  memory,
  one,
  optional,
  type Reader,
  type Row,
  type SettingsOf,
  settings,
  text,
  texts,
  toggle,
} from "./setting.ts";

// Settings that several programs have. Each is declared once, so that it has the same name, text and reader everywhere.

/** Settings of commands that read or write the image store. */
export interface StoreSettings {
  readonly cacheDir: string | undefined;
  readonly registry: string | undefined;
  readonly insecureRegistry: readonly string[];
}

export const STORE_SETTINGS: SettingsOf<StoreSettings> = settings({
  cacheDir: text("<dir>", "folder for images", { shown: "xfn in the user's cache folder" }),
  registry: text("<host>", "registry for image names without one", { shown: "docker.io" }),
  insecureRegistry: texts("<host>", "speak http to this registry"),
});

/** Settings of commands that pull from registries. */
export interface RegistryAccessSettings {
  /** `REGISTRY=HOST[/PATH]` */
  readonly mirror: readonly string[];
  /** PEM files. */
  readonly registryCa: readonly string[];
  readonly trustedRealm: readonly string[];
}

export const REGISTRY_ACCESS_SETTINGS: SettingsOf<RegistryAccessSettings> = settings({
  mirror: texts("<registry=host>", "ask this host first for images of a registry"),
  registryCa: texts("<file>", "trust certificates of these authorities too (PEM)"),
  trustedRealm: texts("<host>", "send credentials to this token server, although it is not the registry's own host"),
});

/** Settings of commands that run containers. */
export interface ContainerSettings {
  readonly rootfs: "auto" | "overlay" | "copy";
  readonly allowUnlimited: boolean;
  /** A name on PATH, or an absolute path. */
  readonly ociRuntime: string;
}

export const CONTAINER_SETTINGS: SettingsOf<ContainerSettings> = settings({
  rootfs: one(
    "<mode>",
    "how root filesystems are made: auto, overlay, copy",
    choice("auto", "overlay", "copy"),
    "auto",
  ),
  allowUnlimited: toggle("run without a limit that this host cannot enforce"),
  ociRuntime: one("<program>", "program that runs containers: crun, runc, youki, runsc", anyText, "crun"),
});

/** The largest output of a function. @param usual the default in bytes @param most the largest in bytes */
export function outputSetting(usual: number, most: number): Row<number> {
  const read = (text: string): number => {
    const bytes = memory(text);
    if (bytes <= most) return bytes;
    throw new Error(`${JSON.stringify(text)} must be at most ${most / MEBIBYTE}Mi`);
  };
  const help = "the most that a function may write to stdout";
  return one("<quantity>", help, read, `${usual / MEBIBYTE}Mi`);
}

const MEBIBYTE = 1024 * 1024;

/** Limits of one run. */
export interface LimitSettings {
  /** Bytes. */
  readonly memory: number | undefined;
  /** Cores. */
  readonly cpu: number | undefined;
}

export const LIMIT_SETTINGS: SettingsOf<LimitSettings> = settings({
  memory: optional("<quantity>", "memory limit, such as 64Mi", memory),
  cpu: optional("<quantity>", "cpu limit, such as 250m", cpu),
});

/** Reads a pull policy. The historic runner wrote policies in lower case too. */
export const pullPolicy: Reader<"IfNotPresent" | "Always" | "Never"> = choiceAnyCase("IfNotPresent", "Always", "Never");

/** Certificate files of a TLS client. The prefix begins their flags: `runnerTls` for `--runner-tls-ca`. */
export type TlsClientSettings<P extends string> = {
  readonly [K in `${P}${"Ca" | "Cert" | "Key" | "ServerName"}`]: string | undefined;
};

/** Settings of a client of a runner. */
export function tlsClientSettings<P extends string>(
  prefix: P,
  extras: { variable?: false } = {},
): SettingsOf<TlsClientSettings<P>> {
  const rows = {
    [`${prefix}Ca`]: text("<file>", "CA of the runner's certificate, for TCP with TLS", extras),
    [`${prefix}Cert`]: text("<file>", "own certificate for the runner (mTLS)", extras),
    [`${prefix}Key`]: text("<file>", "its private key", extras),
    [`${prefix}ServerName`]: text(
      "<name>",
      "name in the runner's certificate, where it is not the endpoint's host",
      extras,
    ),
  };
  return settings(rows) as SettingsOf<TlsClientSettings<P>>;
}

/** Those settings by the names of a runner client's options. Undefined if none is set. */
export function tlsClientOptions<P extends string>(
  prefix: P,
  config: Partial<TlsClientSettings<P>>,
): Partial<Record<"caFile" | "certFile" | "keyFile" | "serverName", string | undefined>> | undefined {
  const tls = {
    caFile: config[`${prefix}Ca`],
    certFile: config[`${prefix}Cert`],
    keyFile: config[`${prefix}Key`],
    serverName: config[`${prefix}ServerName`],
  };
  return Object.values(tls).some((value) => value !== undefined) ? tls : undefined;
}

/** Settings of a long-running program. */
export interface OperationSettings {
  readonly metricsAddress: ListenAddress | undefined;
  readonly otelEndpoint: string | undefined;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** Milliseconds. */
  readonly shutdownGrace: number;
}

/** @param defaults the address of metrics, and the duration and the help of `--shutdown-grace` */
export function operationSettings(defaults: {
  readonly metricsAddress: string;
  readonly grace: string;
  readonly graceHelp: string;
}): SettingsOf<OperationSettings> {
  return settings({
    metricsAddress: one(
      "<[host:]port>",
      "HTTP for /metrics, /livez and /readyz, or off",
      listenAddress,
      defaults.metricsAddress,
    ),
    otelEndpoint: optional("<url>", "OpenTelemetry collector (OTLP over HTTP) for traces", httpUrl),
    logLevel: one("<level>", LOG_LEVELS.join(", "), choice(...LOG_LEVELS), "info"),
    logFormat: one("<format>", LOG_FORMATS.join(", "), choice(...LOG_FORMATS), "json"),
    shutdownGrace: one("<duration>", defaults.graceHelp, durationOrNone, defaults.grace),
  });
}

function httpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new Error(`${JSON.stringify(text)} must be an http or https URL`);
  if (url.username !== "" || url.password !== "")
    throw new Error("the URL must not contain credentials: set OTEL_EXPORTER_OTLP_HEADERS instead");
  return text;
}
