import { openStore, type Store } from "@xfn/oci-rootfs";
import { sandboxOwner } from "@xfn/runner";
import { cacheDir } from "./cache-dir.ts";

/**
 * The store that every command uses, its files owned by whom functions run as.
 *
 * @param option - the folder of `--cache-dir`; default: xfn's folder in the user's cache
 */
export async function openImageStore(option: string | undefined): Promise<Store> {
  const owner = sandboxOwner();
  return openStore({ dir: option ?? cacheDir(), ...(owner === undefined ? {} : { owner }) });
}
