import { messageOf } from "@xfn/errors";
import { openStore, type Store } from "@xfn/oci-rootfs";
import { cacheDir } from "../cache-dir.ts";
import { sandboxOwner } from "../sandbox/sandbox-owner.ts";

/**
 * Opens the store of a program. The user that runs functions owns its files.
 *
 * @param maxBytes the store's quota; default none
 * @throws Error that names the folder and the fix
 */
export async function openImageStore(folder: string | undefined, maxBytes?: number): Promise<Store> {
  const dir = folder ?? cacheDir();
  try {
    return await openStore({ dir, maxBytes, owner: sandboxOwner() });
  } catch (error) {
    const message = `cannot keep images in ${dir}: ${messageOf(error)}; choose another folder with --cache-dir`;
    throw new Error(message, { cause: error });
  }
}
