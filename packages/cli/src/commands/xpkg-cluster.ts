import {
  anyText,
  declareSettings,
  duration,
  integer,
  many,
  optional,
  type SettingsOf,
  toggle,
} from "@xfn/program/settings";
import type { XpkgInstallFlags } from "../xpkg/install-command.ts";
import type { WriteFlags } from "../xpkg/write-package.ts";
import { type CommandContext, readFlags } from "./command-context.ts";
import { CLUSTER_SETTINGS } from "./shared-settings.ts";

const WAIT = optional("wait", "<duration>", "wait up to this long until the package is healthy, such as 2m", duration, {
  short: "w",
});

const INSTALL_SETTINGS: SettingsOf<XpkgInstallFlags> = {
  runtimeConfig: optional("runtime-config", "<name>", "the DeploymentRuntimeConfig of the package", anyText),
  manualActivation: toggle("manual-activation", "leave new revisions inactive until a user activates them", {
    short: "m",
  }),
  packagePullSecrets: many(
    "package-pull-secrets",
    "<names>",
    "Secrets with credentials of the registry, separated by commas",
    anyText,
    [],
  ),
  revisionHistoryLimit: optional(
    "revision-history-limit",
    "<n>",
    "old revisions to keep; default: the API server's",
    integer(0, 1_000),
    { short: "r" },
  ),
  wait: WAIT,
  ...CLUSTER_SETTINGS,
};

const UPDATE_SETTINGS: SettingsOf<WriteFlags> = { wait: WAIT, ...CLUSTER_SETTINGS };

const ARGUMENTS = `
KIND is configuration, function or provider. PACKAGE is REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST. NAME is the name of the
object; by default, the repository with dashes instead of slashes.`;

const EXIT_CODES = "Exit code 0; 1 if the API server refuses or the package is not healthy in time; 2 for wrong usage.";

const INSTALL_HELP = `${ARGUMENTS}

Creates the object on the API server of the kubeconfig. A controller of packages installs the package: xfn-controller with
--enable-packages, or Crossplane. Prints KIND/NAME created.
${EXIT_CODES}

Example:
  $ xfn xpkg install function xpkg.crossplane.io/crossplane-contrib/function-auto-ready:v0.6.0 --wait 2m
  function/crossplane-contrib-function-auto-ready created`;

const UPDATE_HELP = `${ARGUMENTS}

Changes spec.package of the object, and nothing else. Prints KIND/NAME updated.
${EXIT_CODES}

Example:
  $ xfn xpkg update function xpkg.crossplane.io/crossplane-contrib/function-auto-ready:v0.6.1 --wait 2m
  function/crossplane-contrib-function-auto-ready updated`;

/** Declares `xfn xpkg install`. */
export function addXpkgInstall({ program: xpkg, output, finish }: CommandContext): void {
  const command = xpkg
    .command("install")
    .description("install a package in a cluster")
    .argument("<kind>", "configuration, function or provider")
    .argument("<package>", "REGISTRY/REPOSITORY:TAG")
    .argument("[name]", "the name of the object");
  declareSettings(command, INSTALL_SETTINGS)
    .addHelpText("after", INSTALL_HELP)
    .action(async (kind: string, reference: string, name: string | undefined) => {
      const flags = readFlags(command, INSTALL_SETTINGS);
      const { runXpkgInstall } = await import("../xpkg/install-command.ts");
      finish(await runXpkgInstall([kind, reference, name], flags, output));
    });
}

/** Declares `xfn xpkg update`. */
export function addXpkgUpdate({ program: xpkg, output, finish }: CommandContext): void {
  const command = xpkg
    .command("update")
    .description("change the version of a package in a cluster")
    .argument("<kind>", "configuration, function or provider")
    .argument("<package>", "REGISTRY/REPOSITORY:TAG")
    .argument("[name]", "the name of the object");
  declareSettings(command, UPDATE_SETTINGS)
    .addHelpText("after", UPDATE_HELP)
    .action(async (kind: string, reference: string, name: string | undefined) => {
      const flags = readFlags(command, UPDATE_SETTINGS);
      const { runXpkgUpdate } = await import("../xpkg/update-command.ts");
      finish(await runXpkgUpdate([kind, reference, name], flags, output));
    });
}
