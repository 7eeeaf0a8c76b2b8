import {
  CONTAINER_SETTINGS,
  type ContainerSettings,
  choiceAnyCase,
  duration,
  group,
  LIMIT_SETTINGS,
  type LimitSettings,
  one,
  pullPolicy,
  type SettingsOf,
  STORE_SETTINGS,
  type StoreSettings,
  settings,
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

/** The flags, variables, defaults and parsers. */
export const RUN_SETTINGS: SettingsOf<RunConfig> = settings({
  ...group("Options", {
    // The default of the historic runner, which existing scripts rely on.
    timeout: one("<duration>", "kill the function after this time", duration, "30s"),
    networkPolicy: one("<policy>", "Isolated: no network; Runner: this machine's", networkPolicy, "Isolated"),
    ...LIMIT_SETTINGS,
    imagePullPolicy: one("<policy>", "IfNotPresent, Always, Never", pullPolicy, "IfNotPresent"),
    ...STORE_SETTINGS,
    cacheDir: { ...STORE_SETTINGS.cacheDir, short: "c" },
  }),
  ...group("How it is run", {
    maxOutput: ENGINE_SETTINGS.maxOutput,
    readOnlyRoot: ENGINE_SETTINGS.readOnlyRoot,
    ...CONTAINER_SETTINGS,
  }),
});

function networkPolicy(text: string): RunConfig["networkPolicy"] {
  return choiceAnyCase("Isolated", "Runner", "Accessible")(text) === "Isolated" ? "Isolated" : "Accessible";
}
