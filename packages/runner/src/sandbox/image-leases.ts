import type { Image, Store } from "@xfn/oci-rootfs";

/** Twice what a read-only root filesystem stays mounted after its last call (`SharedRoots`): a mount keeps its layers in use. */
export const IMAGE_IDLE_MS: number = 10 * 60_000;

/**
 * Says of images that nobody has used for a while that they are not in use any more, so that they can be collected while the
 * runner goes on. What this knows of are calls, and sandboxes that are being made; of those that are kept it asks.
 */
export class HeldImages {
  readonly #store: Pick<Store, "release">;
  readonly #forget: (digest: string) => boolean;
  readonly #idleMs: number;
  readonly #users = new Map<string, number>();
  readonly #idle = new Map<string, NodeJS.Timeout>();
  #looking = 0;

  /** @param forget - makes sure that no sandbox of the image is made but for a call; false if one is there */
  constructor(store: Pick<Store, "release">, forget: (digest: string) => boolean, idleMs: number) {
    this.#store = store;
    this.#forget = forget;
    this.#idleMs = idleMs;
  }

  /** The image of a call, in use until `end` of its digest. */
  async begin(look: () => Promise<Image>): Promise<Image> {
    // What it finds is in use before we are told which it is.
    this.#looking += 1;
    try {
      const image = await look();
      this.hold(image.digest);
      return image;
    } finally {
      this.#looking -= 1;
    }
  }

  /** In use until `end` was called as often. */
  hold(digest: string): void {
    this.#users.set(digest, (this.#users.get(digest) ?? 0) + 1);
    clearTimeout(this.#idle.get(digest));
    this.#idle.delete(digest);
  }

  end(digest: string): void {
    const users = (this.#users.get(digest) ?? 0) - 1;
    if (users > 0) this.#users.set(digest, users);
    else if (this.#users.delete(digest)) this.#releaseLater(digest);
  }

  close(): void {
    for (const timer of this.#idle.values()) clearTimeout(timer);
    this.#idle.clear();
  }

  #release(digest: string): boolean {
    try {
      this.#store.release(digest);
      return true;
    } catch {
      // The store writes it down, which a full disk or too many open files prevent. An image that stays a while longer harms nobody;
      // an error that nobody catches, in a timer, would end the runner with all its calls.
      return false;
    }
  }

  #releaseLater(digest: string): void {
    const look = (): void => {
      this.#idle.delete(digest);
      if (this.#looking > 0 || !this.#forget(digest) || !this.#release(digest)) this.#releaseLater(digest);
    };
    this.#idle.set(digest, setTimeout(look, this.#idleMs).unref());
  }
}
