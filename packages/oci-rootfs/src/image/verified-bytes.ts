import { ImageError } from "../base/errors.ts";
import { hasherFor } from "./digest.ts";

/** What content must be. */
export interface Expected {
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
}

/**
 * Passes chunks on and, before it ends, has made sure that together they are what was expected: no byte beyond the
 * size is passed on, and a consumer that sees the end has seen the right content.
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
      throw new ImageError("SizeMismatch", `longer than the ${size} bytes that its descriptor says`, { digest });
    hasher.hash.update(chunk);
    yield chunk;
  }
  // A transfer that was cut short may well succeed the next time.
  if (received < size)
    throw new ImageError("SizeMismatch", `${received} bytes instead of ${size}`, { digest, retryable: true });
  if (!hasher.matches())
    throw new ImageError("DigestMismatch", `the content's digest is ${hasher.actual()}`, { digest });
}

/** Reads content that fits in memory. `limit` is the caller's reason to refuse more, whatever the size says. */
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
