import {
  anyText,
  type HelpGroups,
  many,
  type OperationSettings,
  operationSettings,
  optional,
  type SettingsOf,
  toggle,
} from "@xfn/program/settings";
import { DEFAULT_ENDPOINT } from "@xfn/runner-grpc";
import { ENGINE_SETTINGS, type EngineConfig } from "../service/engine-settings.ts";

/** Settings of `xfn-runner serve`, read but not yet checked against each other. */
export interface ServeConfig extends EngineConfig, OperationSettings {
  readonly address: readonly string[];
  readonly tokenFile: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly tlsClientCa: string | undefined;
  readonly insecureNoAuth: boolean;
  readonly insecurePlaintext: boolean;
  readonly reflection: boolean;
  readonly allowNetwork: boolean;
  readonly allowChroot: boolean;
}

// Kubernetes kills a pod 30 s after SIGTERM (terminationGracePeriodSeconds).
const DEFAULT_GRACE_SECONDS = 25;

/** The flags, variables, defaults and parsers. */
export const SERVE_SETTINGS: SettingsOf<ServeConfig> = {
  address: many(
    "address",
    "<endpoint>",
    "where to listen: unix:/PATH, unix:///@NAME, HOST:PORT",
    anyText,
    [DEFAULT_ENDPOINT],
    DEFAULT_ENDPOINT,
  ),
  tokenFile: optional("token-file", "<file>", "tokens of callers, one a line; read again for each call", anyText),
  tlsCert: optional("tls-cert", "<file>", "certificate for TCP; read again when it changes", anyText),
  tlsKey: optional("tls-key", "<file>", "its private key", anyText),
  tlsClientCa: optional("tls-client-ca", "<file>", "CA of callers' certificates (mTLS); they need no token", anyText),
  insecureNoAuth: toggle("insecure-no-auth", "admit every caller on abstract and TCP sockets"),
  insecurePlaintext: toggle("insecure-plaintext", "accept tokens over TCP without TLS, from other machines too"),
  reflection: toggle("reflection", "serve gRPC reflection, for grpcurl"),
  ...ENGINE_SETTINGS,
  allowNetwork: toggle("allow-network", "give functions the runner's network where a call asks for it"),
  allowChroot: toggle("allow-chroot", "run functions of type: Chroot, which only a root directory and a user separate"),
  ...operationSettings({
    metricsAddress: "127.0.0.1:9464",
    graceSeconds: DEFAULT_GRACE_SECONDS,
    grace: "how long calls may go on after SIGTERM",
  }),
};

/** The groups of settings in the help. */
export const SERVE_GROUPS: HelpGroups<ServeConfig> = {
  "Who may call": [
    "address",
    "tokenFile",
    "tlsCert",
    "tlsKey",
    "tlsClientCa",
    "insecureNoAuth",
    "insecurePlaintext",
    "reflection",
  ],
  "What a call may have": [
    "maxConcurrent",
    "maxQueued",
    "maxTimeout",
    "startTimeout",
    "maxMemory",
    "maxCpu",
    "maxPids",
    "maxOutput",
    "defaultMemory",
    "defaultCpu",
    "allowImage",
    "allowNetwork",
    "allowChroot",
    "allowOciLayouts",
    "wasmOnly",
    "allowUnlimited",
  ],
  "How it is run": [
    "warmPool",
    "warmPoolCount",
    "warmPoolMemory",
    "warmPoolIdle",
    "freshFunctions",
    "idle",
    "maxServers",
    "serversMemory",
    "readOnlyRoot",
    "rootfs",
    "ociRuntime",
    "cacheDir",
    "cacheQuota",
    "registry",
    "insecureRegistry",
    "mirror",
    "registryCa",
    "trustedRealm",
  ],
  Operation: ["metricsAddress", "otelEndpoint", "logLevel", "logFormat", "shutdownGrace"],
};
