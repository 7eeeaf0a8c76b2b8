import type { Command } from "commander";
import type { CopyFlags } from "../images/copy-command.ts";
import type { CommandContext } from "./command-context.ts";
import { addRegistryOptions } from "./shared-options.ts";

const HELP = `
SRC and DST are each a registry reference (with its registry), oci:DIR[:TAG] for an OCI layout, or a name in the local store;
store:NAME is one in the store whatever it looks like. The copy is the same byte for byte, of an image for several platforms all of
them unless --platform says otherwise. Only what is missing moves. Prints NAME@DIGEST.
Exit code 0; 1 when it cannot be copied; 2 for wrong usage.

Example:
  $ xfn copy ghcr.io/org/my-function:v1 registry.example:5000/mirror/my-function:v1
  registry.example:5000/mirror/my-function:v1@sha256:...`;

/** The options of what copies to other places. */
export function addCopyOptions(command: Command): Command {
  return addRegistryOptions(
    command
      .option("--platform <os/arch>", "of an image for several platforms this one only (default: all)")
      .option("--mount-from <repository>", "a repository of the same registry that may have some of the layers")
      .option(
        "--chunk-size <quantity>",
        "send pieces of this size, such as 64Mi, to registries that take no more at once",
      ),
  ).option("--cache-dir <dir>", "folder for images (default: xfn in the user's cache folder)");
}

/** Declares `xfn copy`. */
export function addCopy({ program, output, finish }: CommandContext): void {
  const command = program
    .command("copy")
    .description("copy an image between registries, layouts and the local store")
    .argument("<src>", "where it is")
    .argument("<dst>", "where it is to be");
  addCopyOptions(command)
    .addHelpText("after", HELP)
    .action(async (from: string, to: string, flags: CopyFlags) => {
      const { runCopy } = await import("../images/copy-command.ts");
      finish(await runCopy(from, to, flags, output));
    });
}
