import { ImageError } from "../base/errors.ts";
import { hasherFor } from "./digest.ts";

/** Digest and size that content must have. */
export interface Expected {
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
}

/**
 * Passes chunks on and verifies size and digest before it ends. No byte beyond the size is passed on, and a consumer
 * that reads to the end has read the right content.
 *
 * @throws ImageError SizeMismatch, DigestMismatch
 */
export async function* verifiedBytes(
  source: AsyncIterable<Uint8Array>,
  expected: Expected,
): AsyncGenerator<Uint8Array, void> {
  const { digest, size } = expected;
  const hasher = hasherFor(digest);
  let received = 0;
  for await (const chunk of source) {
    received += chunk.length;
    if (received > size)
      throw new ImageError("SizeMismatch", `longer than the ${size} bytes of its descriptor`, { digest });
    hasher.hash.update(chunk);
    yield chunk;
  }
  // The next attempt of a truncated transfer may succeed.
  if (received < size)
    throw new ImageError("SizeMismatch", `${received} bytes instead of ${size}`, { digest, retryable: true });
  if (!hasher.matches())
    throw new ImageError("DigestMismatch", `the content's digest is ${hasher.actual()}`, { digest });
}

/** Reads verified content into memory. @throws ImageError TooLarge if its size exceeds `limit` */
export async function readVerified(
  source: AsyncIterable<Uint8Array>,
  expected: Expected,
  limit: number,
): Promise<Buffer> {
  if (expected.size > limit)
    throw new ImageError("TooLarge", `${expected.size} bytes, more than ${limit}`, { digest: expected.digest });
  const chunks: Uint8Array[] = [];
  for await (const chunk of verifiedBytes(source, expected)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
