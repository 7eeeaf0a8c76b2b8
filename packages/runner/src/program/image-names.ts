import { openImageStore } from "../service/open-image-store.ts";

/** The names of the images in the store, for completion. */
export async function imageNames(dir: string | undefined): Promise<readonly string[]> {
  const store = await openImageStore(dir);
  // Images without a name are listed by digest.
  return store
    .images()
    .map(({ name }) => name)
    .filter((name) => !name.startsWith("sha256:"));
}
