import { dirname } from "node:path";
import { STDIN } from "@xfn/input";
import { resolveImageName } from "@xfn/oci-rootfs/image-name";

/**
 * Makes a relative `oci:` directory absolute, relative to the file that names it; stdin counts as the working
 * directory.
 */
export function absoluteImage(image: string, file: string): string {
  return resolveImageName(image, file === STDIN ? "." : dirname(file));
}
