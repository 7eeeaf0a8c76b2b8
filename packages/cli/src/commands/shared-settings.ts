import { anyText, CONTAINER_SETTINGS, many, optional, type SettingsOf, STORE_SETTINGS } from "@xfn/program/settings";
import type { RegistryFlags } from "../flags/registry-flags.ts";
import type { RunnerFlags } from "../runner/with-runner.ts";

/** Settings of every command that pulls or pushes. Credentials are those of `docker login`. */
export const REGISTRY_SETTINGS: SettingsOf<RegistryFlags> = {
  insecureRegistry: STORE_SETTINGS.insecureRegistry,
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

/** Settings of every command that runs containers. */
export const RUNNER_SETTINGS: SettingsOf<RunnerFlags> = {
  ...REGISTRY_SETTINGS,
  allowUnlimited: CONTAINER_SETTINGS.allowUnlimited,
  registry: STORE_SETTINGS.registry,
  rootfs: CONTAINER_SETTINGS.rootfs,
  cacheDir: STORE_SETTINGS.cacheDir,
};

/** One platform of an image. @param shown the platform without the flag */
export function platformSetting(help: string, shown: string): SettingsOf<{ platform?: string }>["platform"] {
  return optional("platform", "<os/arch>", help, anyText, { shown });
}
