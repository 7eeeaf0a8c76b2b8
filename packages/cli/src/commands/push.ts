import { declareSettings } from "@xfn/program/settings";
import { type CommandContext, readFlags } from "./command-context.ts";
import { COPY_SETTINGS } from "./copy.ts";

const HELP = `
NAME is an image of the local store, such as one of \`xfn build\`, or an oci:DIR layout. REF is its destination, by default NAME itself
if that has a registry. Layers that the registry has, there or in a known repository, are not sent again.
Uses the credentials of \`xfn login\`. Prints NAME@DIGEST.
Exit code 0; 1 if the image cannot be pushed; 2 for wrong usage.

Example:
  $ xfn push my-function:v1 ghcr.io/org/my-function:v1
  ghcr.io/org/my-function:v1@sha256:...`;

/** Declares `xfn push`. */
export function addPush({ program, output, finish }: CommandContext): void {
  const command = program
    .command("push")
    .description("send an image to a registry")
    .argument("<name>", "a name in the local store, or oci:DIR[:TAG]")
    .argument("[ref]", "a registry reference");
  declareSettings(command, COPY_SETTINGS)
    .addHelpText("after", HELP)
    .action(async (name: string, reference: string | undefined) => {
      const flags = readFlags(command, COPY_SETTINGS);
      const { runPush } = await import("../images/copy-command.ts");
      finish(await runPush(name, reference, flags, output));
    });
}
