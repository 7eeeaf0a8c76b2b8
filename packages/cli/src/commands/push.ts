import { type CommandContext, declareCommand } from "./command-context.ts";
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
export function addPush(context: CommandContext): void {
  declareCommand(context, "push", {
    description: "send an image to a registry",
    arguments: { "<name>": "a name in the local store, or oci:DIR[:TAG]", "[ref]": "a registry reference" },
    settings: COPY_SETTINGS,
    help: HELP,
    run: async (flags, name: string, reference?: string) => {
      const { runPush } = await import("../images/copy-command.ts");
      return await runPush(name, reference, flags, context.output);
    },
  });
}
