import { ImageError } from "../base/errors.ts";
import { Attempts, type RetryOptions } from "../base/retry.ts";

/** After this many bytes, the number of failed attempts is reset. */
const PROGRESS_BYTES = 1024 * 1024;

/** Opens the content at an offset. */
export type OpenAt = (offset: number) => Promise<AsyncIterable<Uint8Array>>;

/**
 * Returns the content as one stream, and resumes it after a broken connection. The reader must verify the content. If
 * the source repeatedly ends too early, the stream ends too.
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
    const isTruncated = broken === undefined;
    broken ??= new ImageError("RegistryUnavailable", `the content ends after ${received} of ${size} bytes`, {
      retryable: true,
    });
    try {
      await attempts.pauseAfter(broken, signal);
    } catch (error) {
      // The reader's verification reports truncated content.
      if (isTruncated && error === broken) return;
      throw error;
    }
    stream = await openAt(received);
  }
}

/** Skips the first bytes, for a registry that does not support ranges. */
export async function* skipping(source: AsyncIterable<Uint8Array>, count: number): AsyncGenerator<Uint8Array, void> {
  let left = count;
  for await (const chunk of source) {
    if (chunk.length > left) yield left === 0 ? chunk : chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}
