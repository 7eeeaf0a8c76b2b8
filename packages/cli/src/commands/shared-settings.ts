import {
  CONTAINER_SETTINGS,
  outputSetting,
  REGISTRY_ACCESS_SETTINGS,
  type Row,
  type SettingsOf,
  STORE_SETTINGS,
  settings,
  text,
  toggle,
} from "@xfn/program/settings";
import { DEFAULT_OUTPUT_BYTES, MAX_PAYLOAD_BYTES } from "@xfn/runner-contract";
import type { ClusterFlags } from "../cluster/with-cluster.ts";
import type { RegistryFlags } from "../flags/registry-flags.ts";
import type { RunnerFlags } from "../runner/with-runner.ts";
import type { GeneratedFlags } from "../types/generated-file.ts";

/** Settings of every command that pulls or pushes. Credentials are those of `xfn login`. */
export const REGISTRY_SETTINGS: SettingsOf<RegistryFlags> = settings({
  insecureRegistry: STORE_SETTINGS.insecureRegistry,
  ...REGISTRY_ACCESS_SETTINGS,
});

/** Settings of every command that runs containers. */
export const RUNNER_SETTINGS: SettingsOf<Omit<RunnerFlags, "allowChroot">> = settings({
  ...REGISTRY_SETTINGS,
  allowUnlimited: CONTAINER_SETTINGS.allowUnlimited,
  registry: STORE_SETTINGS.registry,
  rootfs: CONTAINER_SETTINGS.rootfs,
  ociRuntime: CONTAINER_SETTINGS.ociRuntime,
  maxOutput: outputSetting(DEFAULT_OUTPUT_BYTES, MAX_PAYLOAD_BYTES),
  cacheDir: STORE_SETTINGS.cacheDir,
});

/** One platform of an image. @param shown the platform without the flag */
export function platformSetting(help: string, shown: string): Row<string | undefined> {
  return text("<os/arch>", help, { shown });
}

/** Settings of every command that uses an API server. */
export const CLUSTER_SETTINGS: SettingsOf<ClusterFlags> = settings({
  kubeconfig: text("<file>", "how to reach the API server; default: KUBECONFIG, else ~/.kube/config"),
  context: text("<name>", "the context of that file; default: its current one"),
});

/** Settings of every command that generates a file from definitions. */
export const GENERATED_SETTINGS: SettingsOf<GeneratedFlags> = settings({
  output: text("<file>", "write to this file instead of stdout", { short: "o" }),
  kinds: text("<kinds>", "only these kinds of the definitions, such as Bucket,User.iam.example.org"),
  check: toggle("write nothing, and exit with 1 if the file of --output is not current"),
  cacheDir: STORE_SETTINGS.cacheDir,
  ...REGISTRY_SETTINGS,
  ...CLUSTER_SETTINGS,
});
