import { declareSettings } from "@xfn/program/settings";
import { type CommandContext, readFlags } from "./command-context.ts";
import { COPY_SETTINGS } from "./copy.ts";

const HELP = `
NAME is an image of the local store, such as \`xfn build\` makes, or an oci:DIR layout; REF is where it goes, and may be left out where
NAME has a registry. Layers that the registry has, there or in a repository that is known to have them, are not sent again.
The credentials of \`docker login\` are used. Prints NAME@DIGEST.
Exit code 0; 1 when it cannot be pushed; 2 for wrong usage.

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
