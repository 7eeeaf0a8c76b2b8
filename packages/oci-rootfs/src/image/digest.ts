import { createHash, type Hash } from "node:crypto";
import { ImageError } from "../base/errors.ts";

/** A parsed content digest: `sha256:<64 hex>` or `sha512:<128 hex>`, lower case. */
export interface Digest {
  readonly algorithm: "sha256" | "sha512";
  readonly hex: string;
}

// A digest becomes a path in the store, so only these exact forms are valid: `sha256:../../x` must not pass.
const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

/** @throws ImageError Unsupported for an unknown algorithm or form */
export function parseDigest(text: unknown): Digest {
  if (typeof text !== "string" || !DIGEST.test(text)) {
    throw new ImageError("Unsupported", `not a sha256 or sha512 digest: ${JSON.stringify(String(text).slice(0, 150))}`);
  }
  const colon = text.indexOf(":");
  return { algorithm: text.slice(0, colon) as Digest["algorithm"], hex: text.slice(colon + 1) };
}

export function digestOf(bytes: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** Whether content has a digest, of either algorithm. */
export function isOfDigest(bytes: Uint8Array, digest: string): boolean {
  const hasher = hasherFor(digest);
  hasher.hash.update(bytes);
  return hasher.matches();
}

/** A hash with the algorithm of `digest`, to compare with it at the end. */
export function hasherFor(digest: string): { hash: Hash; matches(): boolean; actual(): string } {
  const { algorithm, hex } = parseDigest(digest);
  const hash = createHash(algorithm);
  let result: string | undefined;
  const value = (): string => (result ??= hash.digest("hex"));
  return { hash, matches: () => value() === hex, actual: () => `${algorithm}:${value()}` };
}
