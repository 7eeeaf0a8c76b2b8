import { AsyncLocalStorage } from "node:async_hooks";
import type { Image, OnProgress, Store } from "@xfn/oci-rootfs";

/** What is learnt about an image while a call runs. */
export interface ImageUse {
  /** Of the platform's manifest, once the image is there. */
  digest?: string;
  /** Bytes of layers that were fetched for it, packed. */
  pulledBytes: number;
}

/** A store that tells what the calls that use it made of it. */
export interface ObservedStore {
  readonly store: Store;
  /** Runs `work`; what it asks of the store is told in `use`. */
  during<T>(use: ImageUse, work: () => Promise<T>): Promise<T>;
}

/**
 * Watches a store. A call is known by the asynchronous context that it runs in: what a sandbox that is started early asks of the
 * store is nobody's.
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
