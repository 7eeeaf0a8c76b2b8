import {
  anyText,
  group,
  many,
  type OperationSettings,
  operationSettings,
  type SettingsOf,
  settings,
  text,
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

/** The flags, variables, defaults and parsers. */
export const SERVE_SETTINGS: SettingsOf<ServeConfig> = settings({
  ...group("Who may call", {
    address: many("<endpoint>", "where to listen: unix:/PATH, unix:///@NAME, HOST:PORT", anyText, {
      standard: [DEFAULT_ENDPOINT],
      shown: DEFAULT_ENDPOINT,
    }),
    tokenFile: text("<file>", "tokens of callers, one a line; read again for each call"),
    tlsCert: text("<file>", "certificate for TCP; read again when it changes"),
    tlsKey: text("<file>", "its private key"),
    tlsClientCa: text("<file>", "CA of callers' certificates (mTLS); they need no token"),
    insecureNoAuth: toggle("admit every caller on abstract and TCP sockets"),
    insecurePlaintext: toggle("accept tokens over TCP without TLS, from other machines too"),
    reflection: toggle("serve gRPC reflection, for grpcurl"),
  }),
  ...ENGINE_SETTINGS,
  ...group("What a call may have", {
    allowNetwork: toggle("give functions the runner's network where a call asks for it"),
    allowChroot: toggle("run functions of type: Chroot, which only a root directory and a user separate"),
  }),
  ...group(
    "Operation",
    operationSettings({
      metricsAddress: "127.0.0.1:9464",
      // Kubernetes kills a pod 30 s after SIGTERM (terminationGracePeriodSeconds).
      grace: "25s",
      graceHelp: "how long calls may go on after SIGTERM",
    }),
  ),
});
