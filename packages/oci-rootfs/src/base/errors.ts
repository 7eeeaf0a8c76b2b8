import { CodedError } from "@xfn/errors";
/** Classifies an error for programs. */
export type ImageErrorCode =
  | "Aborted" // the caller's signal fired.
  | "BuildFailed" // the input of buildImage cannot become an image.
  | "DigestMismatch" // content has another digest.
  | "InUse" // a process uses the image that was to be removed.
  | "InvalidCredentials" // a docker config file, pull secret or credential helper is unusable.
  | "InvalidConfig" // the image config asks for something that no runtime supports.
  | "InvalidManifest" // manifest, index or config violates the specification.
  | "InvalidReference" // an image name is invalid.
  | "NoEntrypoint" // neither entrypoint nor command.
  | "NotFound" // neither the store nor the registry has the image.
  | "RegistryRefused" // the registry rejected a push; `registryCode` has the reason.
  | "RegistryUnavailable" // network, TLS, timeout or a 5xx response; see `retryable`.
  | "SizeMismatch" // content is longer or shorter than its descriptor.
  | "StoreFailed" // the store's directory cannot be read or written.
  | "TooLarge" // content exceeds a limit of this package.
  | "Unauthorized" // the registry rejected the credentials, or requires some.
  | "UnsafeAddress" // a redirect or token realm leads to a forbidden address.
  | "UnsafeLayer" // a layer entry must not be unpacked.
  | "Unsupported" // the media type or digest algorithm is unknown.
  | "WrongPlatform"; // no image for the requested platform.

/** The location of an error in an image, as far as known. */
export interface ImageErrorLocation {
  /** The image, as the caller wrote it or normalised. */
  image?: string;
  /** Digest of the affected content. */
  digest?: string;
  /** Index of the layer, from 0 at the bottom. */
  layer?: number;
  /** Path of the layer's entry. */
  entry?: string;
}

export interface ImageErrorOptions extends ImageErrorLocation {
  cause?: unknown;
  /** Whether the same call may succeed later; default false. */
  retryable?: boolean;
  /** The registry's code (OCI distribution-spec, "Error Codes"), such as `MANIFEST_UNKNOWN`. */
  registryCode?: string | undefined;
  /** Milliseconds to wait before the next attempt, from the registry's `Retry-After`. */
  retryAfterMs?: number | undefined;
}

/** Every failure of this package, except for bugs of the caller. Programs use `code`, because messages may change. */
export class ImageError extends CodedError<ImageErrorCode> implements ImageErrorLocation {
  override readonly name = "ImageError";
  declare readonly image?: string;
  declare readonly digest?: string;
  declare readonly layer?: number;
  declare readonly entry?: string;
  /** The registry's code (OCI distribution-spec, "Error Codes"), such as `MANIFEST_UNKNOWN`. */
  declare readonly registryCode?: string;
  /** Milliseconds to wait before the next attempt, from the registry's `Retry-After`. */
  declare readonly retryAfterMs?: number;
  /** The message without the location. */
  readonly rawMessage: string;

  constructor(code: ImageErrorCode, message: string, options: ImageErrorOptions = {}) {
    super(code, describe(message, options), options);
    this.rawMessage = message;
    if (options.image !== undefined) this.image = options.image;
    if (options.digest !== undefined) this.digest = options.digest;
    if (options.layer !== undefined) this.layer = options.layer;
    if (options.entry !== undefined) this.entry = options.entry;
    if (options.registryCode !== undefined) this.registryCode = options.registryCode;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }

  /** Returns this error with a location; fields that it already has are retained. */
  at(location: ImageErrorLocation): ImageError {
    return new ImageError(this.code, this.rawMessage, { ...location, ...this, cause: this.cause });
  }

  /**
   * Converts any thrown value to an ImageError. The message of a system error includes its code ("ENOSPC: ..."), and an
   * AbortError gets the code `Aborted`.
   */
  static from(thrown: unknown, location: ImageErrorLocation = {}): ImageError {
    if (thrown instanceof ImageError) return thrown.at(location);
    if (thrown instanceof Error) {
      if (thrown.name === "AbortError") return new ImageError("Aborted", "aborted", { ...location, cause: thrown });
      const isSystemError = (thrown as NodeJS.ErrnoException).syscall !== undefined;
      return new ImageError(isSystemError ? "StoreFailed" : "InvalidManifest", thrown.message, {
        ...location,
        cause: thrown,
      });
    }
    return new ImageError("StoreFailed", String(thrown), { ...location, cause: thrown });
  }
}

/** For `catch`: undefined for content that is missing. @throws all other errors */
export function unlessMissing(error: unknown): undefined {
  if (error instanceof ImageError && error.code === "NotFound") return undefined;
  throw error;
}

function describe(message: string, { image, layer, digest, entry }: ImageErrorLocation): string {
  const parts: string[] = [];
  if (image !== undefined) parts.push(printable(image));
  if (layer !== undefined) parts.push(`layer ${layer}${digest === undefined ? "" : ` (${digest})`}`);
  else if (digest !== undefined) parts.push(digest);
  if (entry !== undefined) parts.push(`entry ${JSON.stringify(printable(entry))}`);
  return parts.length === 0 ? message : `${parts.join(", ")}: ${message}`;
}

/** Characters of a name that a message repeats; names are untrusted. */
const MAX_NAME_IN_MESSAGE = 200;

function printable(name: string): string {
  // Names come from registries and layers. Their escape sequences and bidirectional controls must not reach a terminal.
  const clean = name.replace(/(?! )[\p{C}\p{Z}]/gu, "?");
  return clean.length > MAX_NAME_IN_MESSAGE ? `${clean.slice(0, MAX_NAME_IN_MESSAGE)}...` : clean;
}
