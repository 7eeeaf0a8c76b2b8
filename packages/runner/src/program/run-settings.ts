import {
  CONTAINER_SETTINGS,
  type ContainerSettings,
  choiceAnyCase,
  duration,
  type HelpGroups,
  LIMIT_SETTINGS,
  type LimitSettings,
  one,
  pullPolicy,
  type SettingsOf,
  STORE_SETTINGS,
  type StoreSettings,
} from "@xfn/program/settings";
import type { RunOptions } from "@xfn/runner-contract";
import { ENGINE_SETTINGS, type EngineConfig } from "../service/engine-settings.ts";

/** Settings of `xfn-runner run`, as in the historic `xfn run`. */
export interface RunConfig
  extends StoreSettings,
    ContainerSettings,
    LimitSettings,
    Pick<EngineConfig, "readOnlyRoot" | "maxOutput"> {
  /** Milliseconds. */
  readonly timeout: number;
  readonly imagePullPolicy: NonNullable<RunOptions["pullPolicy"]>;
  readonly networkPolicy: NonNullable<RunOptions["network"]>;
}

// The default of the historic runner, which existing scripts rely on.
const DEFAULT_TIMEOUT_MS = 30_000;

/** The flags, variables, defaults and parsers. */
export const RUN_SETTINGS: SettingsOf<RunConfig> = {
  timeout: one("timeout", "<duration>", "kill the function after this time", duration, DEFAULT_TIMEOUT_MS, "30s"),
  imagePullPolicy: one(
    "image-pull-policy",
    "<policy>",
    "IfNotPresent, Always, Never",
    pullPolicy,
    "IfNotPresent",
    "IfNotPresent",
  ),
  networkPolicy: one(
    "network-policy",
    "<policy>",
    "Isolated: no network; Runner: this machine's",
    networkPolicy,
    "Isolated",
    "Isolated",
  ),
  ...LIMIT_SETTINGS,
  ...STORE_SETTINGS,
  cacheDir: { ...STORE_SETTINGS.cacheDir, short: "c" },
  ...CONTAINER_SETTINGS,
  readOnlyRoot: ENGINE_SETTINGS.readOnlyRoot,
  maxOutput: ENGINE_SETTINGS.maxOutput,
};

/** The groups of settings in the help. */
export const RUN_GROUPS: HelpGroups<RunConfig> = {
  Options: ["timeout", "networkPolicy", "memory", "cpu", "imagePullPolicy", "cacheDir", "registry", "insecureRegistry"],
  "How it is run": ["maxOutput", "readOnlyRoot", "rootfs", "ociRuntime", "allowUnlimited"],
};

function networkPolicy(text: string): RunConfig["networkPolicy"] {
  return choiceAnyCase("Isolated", "Runner", "Accessible")(text) === "Isolated" ? "Isolated" : "Accessible";
}
