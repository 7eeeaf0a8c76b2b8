import { type SettingsOf, STORE_SETTINGS, settings } from "@xfn/program/settings";
import type { PullFlags } from "../images/pull-command.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { platformSetting, REGISTRY_SETTINGS } from "./shared-settings.ts";

const SETTINGS: SettingsOf<PullFlags> = settings({
  platform: platformSetting("the platform of an image for several platforms", "this machine's"),
  registry: STORE_SETTINGS.registry,
  ...REGISTRY_SETTINGS,
  cacheDir: STORE_SETTINGS.cacheDir,
});

const HELP = `
IMAGE is a registry reference; a name without a registry is looked up at --registry. Blobs in the store are not fetched again. Uses
the credentials of \`xfn login\`. Prints NAME@DIGEST.
Exit code 0; 1 if the image cannot be pulled; 2 for wrong usage.

Example:
  $ xfn pull ghcr.io/org/my-function:v1
  ghcr.io/org/my-function:v1@sha256:...`;

/** Declares `xfn pull`. */
export function addPull(context: CommandContext): void {
  declareCommand(context, "pull", {
    description: "pull an image from its registry into the local store",
    arguments: { "<image>": "a registry reference" },
    settings: SETTINGS,
    help: HELP,
    run: async (flags, image: string) => {
      const { runPull } = await import("../images/pull-command.ts");
      return await runPull(image, flags, context.output);
    },
  });
}
