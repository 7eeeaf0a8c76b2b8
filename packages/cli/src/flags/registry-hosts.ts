import { ImageError, parseRegistry } from "@xfn/oci-rootfs";
import { usageError } from "../errors/cli-error.ts";

/**
 * The hosts of an option as image names spell them: in lower case.
 *
 * @throws CliError `Usage` for what is no host, such as a URL: it would match no image, and nobody would know
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
      throw usageError(`${option} takes a host such as localhost:5000, not ${JSON.stringify(value)}`);
    }
  });
}
