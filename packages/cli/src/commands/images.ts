import {
  age,
  choice,
  memory,
  one,
  optional,
  type SettingsOf,
  STORE_SETTINGS,
  settings,
  toggle,
} from "@xfn/program/settings";
import type { ListFlags, PruneFlags, RemoveFlags } from "../images/images-command.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";

const LIST_SETTINGS: SettingsOf<ListFlags> = settings({
  output: one("<format>", "table or json", choice("table", "json"), "table", { short: "o" }),
  all: toggle("also list the bases that xfn build made", { short: "a" }),
  cacheDir: STORE_SETTINGS.cacheDir,
});

const REMOVE_SETTINGS: SettingsOf<RemoveFlags> = settings({ cacheDir: STORE_SETTINGS.cacheDir });

const PRUNE_SETTINGS: SettingsOf<PruneFlags> = settings({
  olderThan: optional("<duration>", "remove images that were not used for this time, such as 720h", age),
  maxSize: optional(
    "<quantity>",
    "remove the least recently used images until the rest fit into this size, such as 10Gi",
    memory,
  ),
  built: toggle("also remove images that were built here"),
  dryRun: toggle("only print what would be removed"),
  cacheDir: STORE_SETTINGS.cacheDir,
});

const HELP = `
SIZE is the size of the blobs and unpacked files of an image, including those that it shares with others. The last line has the size of
the store, which counts them once. Images without a name are shown by their digest: a newer image has their name. xfn images prune
removes them. A narrow terminal gets fewer columns.

-o json lists all images, and keeps its fields: name, digest, built, platforms, bytes, lastUsed, inUse, and internal for bases.

Example:
  $ xfn images
  NAME                DIGEST        PLATFORM     SIZE     USED        
  my-function:v1      4f9c2a01b7de  linux/amd64  92 MiB   2 hours ago`;

const REMOVE_HELP = `
Layers of other images are not removed, nor are images in use by a process, such as a runner with a warm pool or a running call.

Example:
  $ xfn images rm my-function:v1`;

const PRUNE_HELP = `
Without an option, removes images without a name. Age and size apply to images that were built here only with --built, because no
registry has them. Images in use by a process are never removed.

Example:
  $ xfn images prune --older-than 720h --max-size 10Gi`;

/** Declares `xfn images`. */
export function addImages(context: CommandContext): void {
  const { output } = context;
  const images = declareCommand(context, "images", {
    description: "list the images of the local store; rm and prune remove images",
    settings: LIST_SETTINGS,
    help: HELP,
    run: async (flags) => {
      const { listImages } = await import("../images/images-command.ts");
      return await listImages(flags, output);
    },
  });
  declareCommand({ ...context, program: images }, "rm", {
    description: "remove images from the local store",
    arguments: { "<name...>": "names as xfn images shows them" },
    settings: REMOVE_SETTINGS,
    help: REMOVE_HELP,
    run: async (flags, names: readonly string[]) => {
      const { removeImages } = await import("../images/images-command.ts");
      return await removeImages(names, flags, output);
    },
  });
  declareCommand({ ...context, program: images }, "prune", {
    description: "remove images by last use and size",
    settings: PRUNE_SETTINGS,
    help: PRUNE_HELP,
    run: async (flags) => {
      const { pruneImages } = await import("../images/images-command.ts");
      return await pruneImages(flags, output);
    },
  });
}
