import { messageOf } from "@xfn/errors";
import { openStore, type Store } from "@xfn/oci-rootfs";
import { cacheDir } from "../cache-dir.ts";
import { sandboxOwner } from "../sandbox/sandbox-owner.ts";

/**
 * The store of a program, its files owned by whom functions run as.
 *
 * @param maxBytes the store's quota; default none
 * @throws Error that names the folder and the way out
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
