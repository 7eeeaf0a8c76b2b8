import { ImageError } from "../base/errors.ts";
import { Attempts, type RetryOptions } from "../base/retry.ts";

/** After so many bytes a transfer counts as one that gets somewhere: what failed before is forgotten. */
const PROGRESS_BYTES = 1024 * 1024;

/** Opens the content from this byte on. */
export type OpenAt = (offset: number) => Promise<AsyncIterable<Uint8Array>>;

/**
 * The content as one stream, although connections break: what is missing is asked for from where it broke. Whether the parts
 * belong together is for the reader to verify, as with any content; a source that ends early for good ends the stream.
 */
export async function* resumedBlob(
  first: AsyncIterable<Uint8Array>,
  openAt: OpenAt,
  size: number,
  retry: RetryOptions | undefined,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const attempts = new Attempts(retry);
  let stream = first;
  let received = 0;
  let counted = 0;
  for (;;) {
    let broken: unknown;
    try {
      for await (const chunk of stream) {
        received += chunk.length;
        yield chunk;
      }
    } catch (error) {
      broken = error;
    }
    if (broken === undefined && received >= size) return;
    if (received - counted >= PROGRESS_BYTES) attempts.progress();
    counted = received;
    const isShort = broken === undefined;
    broken ??= new ImageError("RegistryUnavailable", `the content ends after ${received} of ${size} bytes`, {
      retryable: true,
    });
    try {
      await attempts.pauseAfter(broken, signal);
    } catch (error) {
      // The reader knows better what a short content is.
      if (isShort && error === broken) return;
      throw error;
    }
    stream = await openAt(received);
  }
}

/** Leaves out the first bytes: for a source that cannot begin in the middle. */
export async function* skipping(source: AsyncIterable<Uint8Array>, count: number): AsyncGenerator<Uint8Array, void> {
  let left = count;
  for await (const chunk of source) {
    if (chunk.length > left) yield left === 0 ? chunk : chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}
