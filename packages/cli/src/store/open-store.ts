import { ImageError, openStore, type Store } from "@xfn/oci-rootfs";
import { oneLine } from "@xfn/program/terminal-text";
import { sandboxOwner } from "@xfn/runner";
import { cacheDir } from "@xfn/runner/cache-dir";
import { CliError } from "../errors/cli-error.ts";

/**
 * Opens the store of all commands. Its files belong to the user that functions run as.
 *
 * @param option - the folder of `--cache-dir`; default: xfn's folder in the user's cache
 * @throws CliError `Failed` if the folder cannot be used
 */
export async function openImageStore(option: string | undefined): Promise<Store> {
  const dir = option ?? cacheDir();
  try {
    return await openStore({ dir, owner: sandboxOwner() });
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    const hint = "choose another folder with --cache-dir or XDG_CACHE_HOME";
    throw new CliError("Failed", `cannot store images in ${oneLine(dir, 300)}: ${error.message}`, {
      details: [hint],
      cause: error,
    });
  }
}
