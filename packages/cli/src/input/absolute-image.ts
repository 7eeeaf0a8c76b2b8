import { dirname, resolve } from "node:path";
import { STDIN } from "@xfn/input";
import { resolveImageName } from "@xfn/oci-rootfs/image-name";

// No image reference starts with a dot or a slash.
const FOLDER = /^(\.{0,2}\/|\.{1,2}$)/;

/**
 * Makes a relative `oci:` layout or function's folder (`./functions/db`) absolute, relative to the file that names it.
 * Stdin counts as the working directory.
 */
export function absoluteImage(image: string, file: string): string {
  const base = file === STDIN ? "." : dirname(file);
  return FOLDER.test(image) ? resolve(base, image) : resolveImageName(image, base);
}

/** Whether an image, made absolute, is a function's folder that is built before each run. */
export function isFolder(image: string): boolean {
  return image.startsWith("/");
}
