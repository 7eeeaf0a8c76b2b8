import type { ListFlags, PruneFlags, RemoveFlags } from "../images/images-command.ts";
import type { CommandContext } from "./command-context.ts";

const CACHE_DIR = ["--cache-dir <dir>", "folder for images (default: xfn in the user's cache folder)"] as const;

const HELP = `
SIZE is that of an image's blobs and unpacked files, those included that it shares with others. Images without a name, shown by their digest, are left by names that stand for something newer; xfn images prune
removes them.

Example:
  $ xfn images
  NAME                DIGEST        PLATFORM     SIZE     USED        
  my-function:v1      4f9c2a01b7de  linux/amd64  92 MiB   2 hours ago`;

const REMOVE_HELP = `
What other images need stays. An image that a process uses - a runner with a warm pool, a call under way - is not removed.

Example:
  $ xfn images rm my-function:v1`;

const PRUNE_HELP = `
Without an option, images that no name leads to any more. Images that were built here go by age and size only with --built: no
registry has them. Never what a process uses.

Example:
  $ xfn images prune --older-than 720h --max-size 10Gi`;

/** Declares `xfn images`. */
export function addImages({ program, output, finish }: CommandContext): void {
  const images = program
    .command("images")
    .description("list the images of the local store; rm and prune remove some")
    .option("-o, --output <format>", "table or json (default: table)")
    .option(...CACHE_DIR)
    .addHelpText("after", HELP)
    .action(async (flags: ListFlags) => {
      const { listImages } = await import("../images/images-command.ts");
      finish(await listImages(flags, output));
    });
  images
    .command("rm")
    .description("remove images from the local store")
    .argument("<name...>", "names as xfn images shows them")
    .option(...CACHE_DIR)
    .addHelpText("after", REMOVE_HELP)
    .action(async (names: readonly string[], _flags: RemoveFlags, command: { optsWithGlobals(): RemoveFlags }) => {
      const { removeImages } = await import("../images/images-command.ts");
      finish(await removeImages(names, command.optsWithGlobals(), output));
    });
  images
    .command("prune")
    .description("remove images by last use and size")
    .option("--older-than <duration>", "those that were not used for so long, such as 720h")
    .option("--max-size <quantity>", "those that were used longest ago, until all take no more than this, such as 10Gi")
    .option("--built", "also those that were built here")
    .option("--dry-run", "only say what would be removed")
    .option(...CACHE_DIR)
    .addHelpText("after", PRUNE_HELP)
    .action(async (_flags: PruneFlags, command: { optsWithGlobals(): PruneFlags }) => {
      const { pruneImages } = await import("../images/images-command.ts");
      finish(await pruneImages(command.optsWithGlobals(), output));
    });
}
