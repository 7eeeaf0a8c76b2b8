import {
  anyText,
  CONTAINER_SETTINGS,
  optional,
  outputSetting,
  REGISTRY_ACCESS_SETTINGS,
  type SettingsOf,
  STORE_SETTINGS,
} from "@xfn/program/settings";
import { DEFAULT_OUTPUT_BYTES, MAX_PAYLOAD_BYTES } from "@xfn/runner-contract";
import type { ClusterFlags } from "../cluster/with-cluster.ts";
import type { RegistryFlags } from "../flags/registry-flags.ts";
import type { RunnerFlags } from "../runner/with-runner.ts";

/** Settings of every command that pulls or pushes. Credentials are those of `xfn login`. */
export const REGISTRY_SETTINGS: SettingsOf<RegistryFlags> = {
  insecureRegistry: STORE_SETTINGS.insecureRegistry,
  ...REGISTRY_ACCESS_SETTINGS,
};

/** Settings of every command that runs containers. */
export const RUNNER_SETTINGS: SettingsOf<Omit<RunnerFlags, "allowChroot">> = {
  ...REGISTRY_SETTINGS,
  allowUnlimited: CONTAINER_SETTINGS.allowUnlimited,
  registry: STORE_SETTINGS.registry,
  rootfs: CONTAINER_SETTINGS.rootfs,
  ociRuntime: CONTAINER_SETTINGS.ociRuntime,
  maxOutput: outputSetting(DEFAULT_OUTPUT_BYTES, MAX_PAYLOAD_BYTES),
  cacheDir: STORE_SETTINGS.cacheDir,
};

/** One platform of an image. @param shown the platform without the flag */
export function platformSetting(help: string, shown: string): SettingsOf<{ platform?: string }>["platform"] {
  return optional("platform", "<os/arch>", help, anyText, { shown });
}

/** Settings of every command that uses an API server. */
export const CLUSTER_SETTINGS: SettingsOf<ClusterFlags> = {
  kubeconfig: optional(
    "kubeconfig",
    "<file>",
    "how to reach the API server; default: KUBECONFIG, else ~/.kube/config",
    anyText,
  ),
  context: optional("context", "<name>", "the context of that file; default: its current one", anyText),
};
