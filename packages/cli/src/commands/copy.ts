import { memory, optional, type SettingsOf, STORE_SETTINGS, settings, text } from "@xfn/program/settings";
import type { CopyFlags } from "../images/copy-command.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { platformSetting, REGISTRY_SETTINGS } from "./shared-settings.ts";

/** Settings of commands that copy images. */
export const COPY_SETTINGS: SettingsOf<CopyFlags> = settings({
  platform: platformSetting("copy one platform of an image for several platforms", "all"),
  mountFrom: text("<repository>", "a repository of the same registry that may have some of the layers"),
  chunkSize: optional(
    "<quantity>",
    "upload in chunks of this size, such as 64Mi, to registries that limit requests",
    memory,
  ),
  ...REGISTRY_SETTINGS,
  cacheDir: STORE_SETTINGS.cacheDir,
});

const HELP = `
SRC and DST are each a registry reference (with its registry), oci:DIR[:TAG] for an OCI layout, or a name in the local store;
store:NAME is always a name in the store. The copy is identical, byte for byte. Without --platform, all platforms of an image are
copied. Only missing blobs are transferred. Prints NAME@DIGEST.
Exit code 0; 1 if the image cannot be copied; 2 for wrong usage.

Example:
  $ xfn copy ghcr.io/org/my-function:v1 registry.example:5000/mirror/my-function:v1
  registry.example:5000/mirror/my-function:v1@sha256:...`;

/** Declares `xfn copy`. */
export function addCopy(context: CommandContext): void {
  declareCommand(context, "copy", {
    description: "copy an image between registries, layouts and the local store",
    arguments: { "<src>": "the image to copy", "<dst>": "the name of the copy" },
    settings: COPY_SETTINGS,
    help: HELP,
    run: async (flags, from: string, to: string) => {
      const { runCopy } = await import("../images/copy-command.ts");
      return await runCopy(from, to, flags, context.output);
    },
  });
}
