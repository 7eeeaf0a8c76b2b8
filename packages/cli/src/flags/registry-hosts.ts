import { ImageError, parseRegistry } from "@xfn/oci-rootfs";
import { usageError } from "../errors/cli-error.ts";

/**
 * Normalises the hosts of an option to the lower case of image names.
 *
 * @throws CliError `Usage` for other values, such as a URL, which would silently match no image
 */
export function registryHosts(
  values: readonly string[] | undefined,
  option = "--insecure-registry",
): readonly string[] {
  return (values ?? []).map((value) => {
    try {
      return parseRegistry(value);
    } catch (error) {
      if (!(error instanceof ImageError)) throw error;
      throw usageError(`${option} requires a host such as localhost:5000, not ${JSON.stringify(value)}`);
    }
  });
}
