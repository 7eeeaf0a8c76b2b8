import { type Lease, Shared } from "@xfn/lifetime";
import type { Image, Store } from "@xfn/oci-rootfs";

/**
 * Twice the time that an idle read-only root filesystem stays mounted (`SharedRoots`), because a mount keeps its layers
 * in use.
 */
export const IMAGE_IDLE_MS: number = 10 * 60_000;

/**
 * Releases idle images in the store after a while, so that they can be pruned while the runner lives. Calls and
 * sandboxes that are being prepared acquire leases; `forget` asks the warm pool.
 */
export class ImageLeases {
  readonly #store: Pick<Store, "release">;
  readonly #forget: (digest: string) => boolean;
  readonly #digests: Shared<string, string>;
  readonly #leases = new Map<string, Lease<string>[]>();
  #lookups = 0;

  /** @param forget stops pre-starting sandboxes of the image until its next call; false if the pool has one */
  constructor(store: Pick<Store, "release">, forget: (digest: string) => boolean, idleMs: number) {
    this.#store = store;
    this.#forget = forget;
    this.#digests = new Shared((digest) => this.#releaseInStore(digest), idleMs);
  }

  /** Looks up the image of a call and acquires a lease on it. */
  async lookUp(find: () => Promise<Image>): Promise<Image> {
    // The store marks the image as used before its digest is known here, so no image may be released in the meantime.
    this.#lookups += 1;
    try {
      const image = await find();
      this.acquire(image.digest);
      return image;
    } finally {
      this.#lookups -= 1;
    }
  }

  acquire(digest: string): void {
    this.#leases.set(digest, [...(this.#leases.get(digest) ?? []), this.#digests.use(digest, () => digest)]);
  }

  release(digest: string): void {
    const leases = this.#leases.get(digest);
    leases?.pop()?.release();
    if (leases?.length === 0) this.#leases.delete(digest);
  }

  close(): void {
    this.#digests.takeAll();
  }

  #releaseInStore(digest: string): void {
    try {
      if (this.#lookups === 0 && this.#forget(digest)) return this.#store.release(digest);
    } catch {
      // A full disk or too many open files prevent the store's write. An exception in a timer would end the runner with
      // all its calls, and keeping an image longer is harmless.
    }
    // Try again after the next idle time.
    this.#digests.use(digest, () => digest).release();
  }
}
