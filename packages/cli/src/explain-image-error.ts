import { ImageError, parseReference } from "@xfn/oci-rootfs";
import { CliError, inputError } from "./errors.ts";

/**
 * Adds what to do to an error about an image: a name that cannot be read is wrong input, and one that was not found is most
 * often one that was not built yet. Other errors come back as they are.
 */
export function explainImageError(error: unknown): unknown {
  const imageError = causeOf(error);
  if (!(error instanceof Error) || imageError === undefined) return error;
  if (imageError.code === "InvalidReference") return inputError(error.message, [], error);
  const { image, code } = imageError;
  const missing = code === "NotFound" || code === "RegistryUnavailable" || code === "Unauthorized";
  if (!missing || image === undefined || image.startsWith("oci:") || isQualified(image)) return error;
  const hint = `\`xfn build DIR -t ${image}\` makes an image of that name in the local store, where it is looked for first`;
  return new CliError("Failed", error.message, { details: [hint], cause: error });
}

function causeOf(error: unknown): ImageError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof ImageError) return at;
  return undefined;
}

function isQualified(image: string): boolean {
  try {
    return parseReference(image).qualified;
  } catch {
    return true;
  }
}
