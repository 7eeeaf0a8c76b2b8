import { AsyncLocalStorage } from "node:async_hooks";
import type { Image, OnProgress, Store } from "@xfn/oci-rootfs";

/** A call's use of its image. */
export interface ImageUse {
  /** Digest of the platform's manifest, once the image is available. */
  digest?: string;
  /** Compressed bytes of the layers that were pulled. */
  pulledBytes: number;
}

/** A store that records how each call uses it. */
export interface ObservedStore {
  readonly store: Store;
  /** Runs `work`, and records its use of the store in `use`. */
  during<T>(use: ImageUse, work: () => Promise<T>): Promise<T>;
}

/**
 * Observes a store. The asynchronous context identifies the call; pre-started sandboxes belong to no call.
 */
export function observeStore(
  store: Store,
  onImage: (outcome: "present" | "pulled" | "failed", pulledBytes: number) => void,
): ObservedStore {
  const calls = new AsyncLocalStorage<ImageUse>();
  return {
    store: {
      ...store,
      async image(name, options = {}): Promise<Image> {
        const use = calls.getStore() ?? { pulledBytes: 0 };
        const fetched = new Map<string, number>();
        const onProgress: OnProgress = (progress) => {
          if (progress.state === "done") fetched.set(progress.digest, progress.totalBytes);
          options.onProgress?.(progress);
        };
        let failed = true;
        try {
          const image = await store.image(name, { ...options, onProgress });
          use.digest = image.digest;
          failed = false;
          return image;
        } finally {
          use.pulledBytes = [...fetched.values()].reduce((sum, bytes) => sum + bytes, 0);
          onImage(failed ? "failed" : fetched.size > 0 ? "pulled" : "present", use.pulledBytes);
        }
      },
    },
    during: (use, work) => calls.run(use, work),
  };
}
