import { openStore, type Store } from "@xfn/oci-rootfs";
import { cacheDir } from "../cache-dir.ts";
import { sandboxOwner } from "../sandbox/sandbox-owner.ts";

/**
 * The store of a program, its files owned by whom functions run as.
 *
 * @throws Error that names the folder and the way out
 */
export async function openImageStore(folder: string | undefined): Promise<Store> {
  const owner = sandboxOwner();
  const dir = folder ?? cacheDir();
  try {
    return await openStore({ dir, ...(owner === undefined ? {} : { owner }) });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot keep images in ${dir}: ${why}; choose another folder with --cache-dir`, { cause: error });
  }
}
