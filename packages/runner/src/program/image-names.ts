import { openStore } from "@xfn/oci-rootfs";
import { cacheDir } from "../cache-dir.ts";
import { sandboxOwner } from "../sandbox/sandbox-owner.ts";

/** The names of the images in the store, for completion. */
export async function imageNames(dir: string = cacheDir()): Promise<readonly string[]> {
  const store = await openStore({ dir, owner: sandboxOwner() });
  // Images without a name are listed by digest.
  return store
    .images()
    .map(({ name }) => name)
    .filter((name) => !name.startsWith("sha256:"));
}
