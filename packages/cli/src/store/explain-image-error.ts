import { InputError } from "@xfn/input";
import { ImageError } from "@xfn/oci-rootfs";
import { tryParseImageName } from "@xfn/oci-rootfs/image-name";
import { CliError } from "../errors/cli-error.ts";

/**
 * Adds what to do to an error about an image: a name that cannot be read is wrong input, one that was not found is most
 * often one that was not built yet, and a registry may want credentials or an option. Other errors come back as they are.
 */
export function explainImageError(error: unknown): unknown {
  const imageError = causeOf(error);
  if (!(error instanceof Error) || imageError === undefined) return error;
  if (imageError.code === "InvalidReference") return new InputError(error.message, { cause: error });
  const { image, code } = imageError;
  const way = wayToRegistry(imageError, image);
  if (way !== undefined) return new CliError("Failed", error.message, { details: [way], cause: error });
  const missing = code === "NotFound" || code === "RegistryUnavailable" || code === "Unauthorized";
  const name = image === undefined ? undefined : tryParseImageName(image);
  if (!missing || name?.kind !== "registry" || name.qualified) return error;
  const hint = `\`xfn build DIR -t ${image}\` makes an image of that name in the local store, where it is looked for first`;
  return new CliError("Failed", error.message, { details: [hint], cause: error });
}

/** What opens a registry that is there and has not let us in. */
function wayToRegistry(error: ImageError, image: string | undefined): string | undefined {
  const registry = image === undefined ? undefined : registryOf(image);
  if (registry === undefined) return undefined;
  if (error.code === "Unauthorized") return `\`docker login ${registry}\` keeps credentials that xfn uses as well`;
  let system = "";
  for (let at = error.cause; at instanceof Error; at = at.cause) system = String((at as NodeJS.ErrnoException).code);
  if (/^(?:EPROTO|ERR_SSL_WRONG_VERSION_NUMBER)$/.test(system))
    return `\`--insecure-registry ${registry}\` speaks http to it`;
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(system)) return "`--registry-ca FILE` names the authority of its certificate";
  return undefined;
}

function registryOf(image: string): string | undefined {
  const name = tryParseImageName(image);
  return name?.kind === "registry" && name.qualified ? name.registry : undefined;
}

function causeOf(error: unknown): ImageError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof ImageError) return at;
  return undefined;
}
