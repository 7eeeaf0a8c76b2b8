import { InputError } from "@xfn/input";
import { credentialFiles, type ImageError } from "@xfn/oci-rootfs";
import { tryParseImageName } from "@xfn/oci-rootfs/image-name";
import { CliError } from "../errors/cli-error.ts";

/**
 * Adds a hint to an image error. An invalid name is an input error; an image that was not found may not have been built
 * yet; a registry may require credentials or a flag. Returns other errors unchanged.
 */
export function explainImageError(error: unknown): unknown {
  const imageError = causeOf(error);
  if (!(error instanceof Error) || imageError === undefined) return error;
  if (imageError.code === "InvalidReference") return new InputError(error.message, { cause: error });
  const { image, code } = imageError;
  const name = image === undefined ? undefined : tryParseImageName(image);
  if (name?.kind !== "registry") return error;
  const details: string[] = [];
  const missing = code === "NotFound" || code === "RegistryUnavailable" || code === "Unauthorized";
  if (missing && !name.qualified)
    details.push(
      `\`xfn build DIR -t ${image}\` builds an image of that name in the local store, which is searched first`,
    );
  const refused = registryHint(imageError, name.registry);
  if (refused !== undefined) details.push(refused);
  return details.length === 0 ? error : new CliError("Failed", error.message, { details, cause: error });
}

/** Adds a hint to the error of a request that concerns no image, but a registry. Returns other errors unchanged. */
export function explainRegistryError(error: unknown, registry: string): unknown {
  const imageError = causeOf(error);
  if (!(error instanceof Error) || imageError === undefined || imageError.code === "Unauthorized") return error;
  const hint = registryHint(imageError, registry);
  return hint === undefined ? error : new CliError("Failed", error.message, { details: [hint], cause: error });
}

/** The hint for a registry that refused the connection. */
function registryHint(error: ImageError, registry: string): string | undefined {
  if (error.code === "Unauthorized") {
    const files = credentialFiles().map(({ path }) => path);
    return `\`xfn login ${registry}\` stores credentials, as \`docker login ${registry}\` and \`podman login ${registry}\` do; xfn looks for them in ${files.join(", ")}`;
  }
  let [system, reason] = ["", ""];
  for (let at = error.cause; at instanceof Error; at = at.cause)
    [system, reason] = [String((at as NodeJS.ErrnoException).code), at.message];
  // Node has no code of its own for a server that closes the connection at the first bytes of TLS.
  const closed = system === "ECONNRESET" && reason.includes("before secure TLS connection");
  if (closed || /^(?:EPROTO|ERR_SSL_WRONG_VERSION_NUMBER)$/.test(system))
    return `use \`--insecure-registry ${registry}\` for a registry without TLS`;
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(system))
    return "use `--registry-ca FILE` to trust the authority of its certificate, or NODE_EXTRA_CA_CERTS=FILE for that of a proxy";
  return undefined;
}

function causeOf(error: unknown): ImageError | undefined {
  // A build of a folder loads its own copy of the class.
  for (let at = error; at instanceof Error; at = at.cause) if (at.name === "ImageError") return at as ImageError;
  return undefined;
}
