import {
  choice,
  cpu,
  duration,
  type HelpGroups,
  memory,
  one,
  optional,
  type Reader,
  type SettingsOf,
} from "@xfn/program";
import type { RunOptions } from "@xfn/runner-contract";
import { SERVE_SETTINGS, type ServeConfig } from "./serve-settings.ts";

type Shared = Pick<
  ServeConfig,
  "cacheDir" | "registry" | "insecureRegistry" | "rootfs" | "readOnlyRoot" | "ociRuntime" | "allowUnlimited"
>;

/** Settings of `xfn-runner run`, as the historic `xfn run` had them. */
export interface RunConfig extends Shared {
  /** Milliseconds. */
  readonly timeout: number;
  readonly imagePullPolicy: NonNullable<RunOptions["pullPolicy"]>;
  readonly networkPolicy: NonNullable<RunOptions["network"]>;
  /** Bytes. */
  readonly memory: number | undefined;
  /** Cores. */
  readonly cpu: number | undefined;
}

// As of the historic runner, which is what scripts that call this were written for.
const DEFAULT_TIMEOUT_MS = 30_000;

const { cacheDir, registry, insecureRegistry, rootfs, readOnlyRoot, ociRuntime, allowUnlimited } = SERVE_SETTINGS;

/** How each setting is given and read. */
export const RUN_SETTINGS: SettingsOf<RunConfig> = {
  timeout: one("timeout", "<duration>", "kill the function after this time", duration, DEFAULT_TIMEOUT_MS, "30s"),
  imagePullPolicy: one(
    "image-pull-policy",
    "<policy>",
    "IfNotPresent, Always, Never",
    anyCase(choice("IfNotPresent", "Always", "Never"), ["IfNotPresent", "Always", "Never"]),
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
  memory: optional("memory", "<quantity>", "memory limit, such as 64Mi", memory),
  cpu: optional("cpu", "<quantity>", "cpu limit, such as 250m", cpu),
  cacheDir,
  registry,
  insecureRegistry,
  rootfs,
  readOnlyRoot,
  ociRuntime,
  allowUnlimited,
};

/** The settings as the help shows them. */
export const RUN_GROUPS: HelpGroups<RunConfig> = {
  Options: ["timeout", "networkPolicy", "memory", "cpu", "imagePullPolicy", "cacheDir", "registry", "insecureRegistry"],
  "How it is run": ["readOnlyRoot", "rootfs", "ociRuntime", "allowUnlimited"],
};

function networkPolicy(text: string): RunConfig["networkPolicy"] {
  const policy = anyCase(choice("Isolated", "Runner", "Accessible"), ["Isolated", "Runner", "Accessible"])(text);
  return policy === "Isolated" ? "Isolated" : "Accessible";
}

// The historic runner wrote policies in lower case as well.
function anyCase<T extends string>(read: Reader<T>, words: readonly T[]): Reader<T> {
  return (text) => read(words.find((word) => word.toLowerCase() === text.toLowerCase()) ?? text);
}
