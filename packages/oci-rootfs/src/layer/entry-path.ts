import { ImageError } from "../base/errors.ts";
import type { LayerLimits } from "./layer-limits.ts";

/**
 * A path inside a layer, which is bytes and not text. It is a JavaScript string with one character per byte
 * ("latin1"), so that names that are not UTF-8 stay distinct.
 */
export type BytePath = string;

export function toBytePath(text: string): BytePath {
  return isAscii(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

/** Decodes a path for messages. */
export function fromBytePath(path: BytePath): string {
  return isAscii(path) ? path : Buffer.from(path, "latin1").toString("utf8");
}

/** The path for node:fs: a string if it is ASCII, else bytes. */
export function systemPath(directory: string, path: BytePath): string | Buffer {
  if (path === "") return directory;
  if (isAscii(path)) return `${directory}/${path}`;
  return Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(path, "latin1")]);
}

function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- the range is ASCII
  return !/[^\x00-\x7f]/.test(text);
}

/**
 * Splits an entry's path into components. A leading slash means the layer's root, as in all tools. `..` removes the
 * component before it, as in umoci, so that links do not change the meaning of a path.
 *
 * @throws ImageError UnsafeLayer for NUL, a path that leads out of the root, or one that exceeds the limits
 */
export function splitEntryPath(path: BytePath, limits: LayerLimits): string[] {
  return split(path, limits, () => {
    throw unsafe("path leads out of the layer's root");
  });
}

/**
 * Splits the target of a hard link, which has many spellings: `usr/bin/perl`, `/usr/bin/perl`, `../usr/bin/perl`. As
 * in a chroot, `..` stops at the root.
 *
 * @throws ImageError UnsafeLayer for NUL, or a path that exceeds the limits
 */
export function splitLinkTarget(path: BytePath, limits: LayerLimits): string[] {
  return split(path, limits, () => undefined);
}

function split(path: BytePath, limits: LayerLimits, atRoot: () => void): string[] {
  if (path.length > limits.maxPathBytes) throw unsafe(`path of ${path.length} bytes, more than ${limits.maxPathBytes}`);
  if (path.includes("\0")) throw unsafe("NUL in path");
  if (path === "") throw unsafe("empty path");
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) atRoot();
    if (part.length > limits.maxNameBytes)
      throw unsafe(`name of ${part.length} bytes, more than ${limits.maxNameBytes}`);
    if (parts.length > limits.maxDepth)
      throw unsafe(`path of ${parts.length} components, more than ${limits.maxDepth}`);
  }
  return parts;
}

export function unsafe(why: string, cause?: unknown): ImageError {
  return new ImageError("UnsafeLayer", why, { cause });
}
