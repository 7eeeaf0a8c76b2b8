import { duration, integer, optional, type SettingsOf, settings, text, texts, toggle } from "@xfn/program/settings";
import type { PackageArguments, XpkgInstallFlags } from "../xpkg/install-command.ts";
import type { WriteFlags } from "../xpkg/write-package.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { CLUSTER_SETTINGS } from "./shared-settings.ts";

const WAIT = optional("<duration>", "wait up to this long until the package is healthy, such as 2m", duration, {
  short: "w",
});

const INSTALL_SETTINGS: SettingsOf<XpkgInstallFlags> = settings({
  runtimeConfig: text("<name>", "the DeploymentRuntimeConfig of the package"),
  manualActivation: toggle("leave new revisions inactive until a user activates them", { short: "m" }),
  packagePullSecrets: texts("<names>", "Secrets with credentials of the registry, separated by commas"),
  revisionHistoryLimit: optional("<n>", "old revisions to keep; default: the API server's", integer(0, 1_000), {
    short: "r",
  }),
  wait: WAIT,
  ...CLUSTER_SETTINGS,
});

const UPDATE_SETTINGS: SettingsOf<WriteFlags> = settings({ wait: WAIT, ...CLUSTER_SETTINGS });

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

const ARGUMENT_TEXTS = {
  "<kind>": "configuration, function or provider",
  "<package>": "REGISTRY/REPOSITORY:TAG",
  "[name]": "the name of the object",
};

/** Declares `xfn xpkg install`. */
export function addXpkgInstall(context: CommandContext): void {
  declareCommand(context, "install", {
    description: "install a package in a cluster",
    arguments: ARGUMENT_TEXTS,
    settings: INSTALL_SETTINGS,
    help: INSTALL_HELP,
    run: async (flags, ...args: PackageArguments) => {
      const { runXpkgInstall } = await import("../xpkg/install-command.ts");
      return await runXpkgInstall(args, flags, context.output);
    },
  });
}

/** Declares `xfn xpkg update`. */
export function addXpkgUpdate(context: CommandContext): void {
  declareCommand(context, "update", {
    description: "change the version of a package in a cluster",
    arguments: ARGUMENT_TEXTS,
    settings: UPDATE_SETTINGS,
    help: UPDATE_HELP,
    run: async (flags, ...args: PackageArguments) => {
      const { runXpkgUpdate } = await import("../xpkg/update-command.ts");
      return await runXpkgUpdate(args, flags, context.output);
    },
  });
}
