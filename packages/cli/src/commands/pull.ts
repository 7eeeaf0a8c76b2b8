import type { PullFlags } from "../images/pull-command.ts";
import type { CommandContext } from "./command-context.ts";
import { addRegistryOptions } from "./shared-options.ts";

const HELP = `
IMAGE is a registry reference; without a registry it is one of --registry. What is in the store already is not fetched again. The
credentials of \`docker login\` are used. Prints NAME@DIGEST.
Exit code 0; 1 when it cannot be pulled; 2 for wrong usage.

Example:
  $ xfn pull ghcr.io/org/my-function:v1
  ghcr.io/org/my-function:v1@sha256:...`;

/** Declares `xfn pull`. */
export function addPull({ program, output, finish }: CommandContext): void {
  const command = program
    .command("pull")
    .description("bring an image from its registry into the local store")
    .argument("<image>", "a registry reference")
    .option("--platform <os/arch>", "of an image for several platforms this one (default: this machine's)")
    .option("--registry <host>", "registry for an image name without one (default: docker.io)");
  addRegistryOptions(command)
    .option("--cache-dir <dir>", "folder for images (default: xfn in the user's cache folder)")
    .addHelpText("after", HELP)
    .action(async (image: string, flags: PullFlags) => {
      const { runPull } = await import("../images/pull-command.ts");
      finish(await runPull(image, flags, output));
    });
}
