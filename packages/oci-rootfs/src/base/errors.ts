/** What went wrong, for programs; the message says it for people. */
export type ImageErrorCode =
  | "Aborted" // the caller's signal fired
  | "BuildFailed" // buildImage was given something that cannot become an image
  | "DigestMismatch" // content is not what its digest says
  | "InUse" // a process uses what was to be removed
  | "InvalidCredentials" // a docker config file, pull secret or credential helper that cannot be used
  | "InvalidConfig" // image config asks for something no runtime can be given
  | "InvalidManifest" // manifest, index or config is not what the specification says
  | "InvalidReference" // an image name that cannot be read
  | "NoEntrypoint" // neither entrypoint nor command
  | "NotFound" // no such image, here or at the registry
  | "RegistryRefused" // the registry does not take what was pushed; `registryCode` says why
  | "RegistryUnavailable" // network, TLS, time or a 5xx answer; see `retryable`
  | "SizeMismatch" // content is longer or shorter than its descriptor says
  | "StoreFailed" // the store's directory cannot be read or written
  | "TooLarge" // beyond a limit of ours
  | "Unauthorized" // the registry refused the credentials, or wants some
  | "UnsafeAddress" // a redirect or token realm to where it must not lead
  | "UnsafeLayer" // a layer entry that must not be unpacked
  | "Unsupported" // media type or digest algorithm that we do not know
  | "WrongPlatform"; // no image for the platform that was asked for

/** Where in an image the error is; each field only where it is known. */
export interface ImageErrorPlace {
  /** The image as the caller, or we after normalising it, name it. */
  image?: string;
  /** Digest of the content concerned. */
  digest?: string;
  /** Index of the layer, from 0 at the bottom. */
  layer?: number;
  /** Path of the layer's entry. */
  entry?: string;
}

export interface ImageErrorOptions extends ImageErrorPlace {
  cause?: unknown;
  /** Whether the same call may succeed later; default false. */
  retryable?: boolean;
  /** The registry's own code (distribution-spec, "Error Codes"), such as `MANIFEST_UNKNOWN`. */
  registryCode?: string | undefined;
  /** Milliseconds after which the registry asks to be tried again (`Retry-After`). */
  retryAfterMs?: number | undefined;
}

/** Every failure of this package that is not a bug of the caller. Decide on `code`, never on the text. */
export class ImageError extends Error implements ImageErrorPlace {
  override readonly name = "ImageError";
  readonly code: ImageErrorCode;
  readonly retryable: boolean;
  declare readonly image?: string;
  declare readonly digest?: string;
  declare readonly layer?: number;
  declare readonly entry?: string;
  /** The registry's own code (distribution-spec, "Error Codes"), such as `MANIFEST_UNKNOWN`, where it gave one. */
  declare readonly registryCode?: string;
  /** Milliseconds after which the registry asks to be tried again (`Retry-After`), where it said so. */
  declare readonly retryAfterMs?: number;
  /** The message without the place it happened at. */
  readonly rawMessage: string;

  constructor(code: ImageErrorCode, message: string, options: ImageErrorOptions = {}) {
    super(describe(message, options), options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.rawMessage = message;
    this.retryable = options.retryable ?? false;
    if (options.image !== undefined) this.image = options.image;
    if (options.digest !== undefined) this.digest = options.digest;
    if (options.layer !== undefined) this.layer = options.layer;
    if (options.entry !== undefined) this.entry = options.entry;
    if (options.registryCode !== undefined) this.registryCode = options.registryCode;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }

  /** Adds where it happened to an error from further down; what that error already says stays. */
  at(place: ImageErrorPlace): ImageError {
    const { image, digest, layer, entry } = this;
    const known = { ...(image !== undefined && { image }), ...(digest !== undefined && { digest }) };
    const inner = { ...(layer !== undefined && { layer }), ...(entry !== undefined && { entry }) };
    const merged = { ...place, ...known, ...inner };
    const { cause, retryable, registryCode, retryAfterMs } = this;
    return new ImageError(this.code, this.rawMessage, { ...merged, cause, retryable, registryCode, retryAfterMs });
  }

  /**
   * Any thrown value as an ImageError: system errors keep their code in the message ("ENOSPC: ..."), and an abort
   * stays recognisable.
   */
  static from(thrown: unknown, place: ImageErrorPlace = {}): ImageError {
    if (thrown instanceof ImageError) return thrown.at(place);
    if (thrown instanceof Error) {
      if (thrown.name === "AbortError") return new ImageError("Aborted", "aborted", { ...place, cause: thrown });
      const system = (thrown as NodeJS.ErrnoException).syscall !== undefined;
      if (system) return new ImageError("StoreFailed", thrown.message, { ...place, cause: thrown });
      return new ImageError("InvalidManifest", thrown.message, { ...place, cause: thrown });
    }
    return new ImageError("StoreFailed", String(thrown), { ...place, cause: thrown });
  }
}

function describe(message: string, place: ImageErrorPlace): string {
  const parts: string[] = [];
  if (place.image !== undefined) parts.push(printable(place.image));
  if (place.layer !== undefined)
    parts.push(`layer ${place.layer}${place.digest === undefined ? "" : ` (${place.digest})`}`);
  else if (place.digest !== undefined) parts.push(place.digest);
  if (place.entry !== undefined) parts.push(`entry ${JSON.stringify(printable(place.entry))}`);
  return parts.length === 0 ? message : `${parts.join(", ")}: ${message}`;
}

/** Longest part of a hostile name that a message repeats. */
const MAX_NAME_IN_MESSAGE = 200;

function printable(name: string): string {
  // Names come from registries and layers: an escape sequence in one must not reach a terminal.
  const clean = name.replace(/[^\x20-\x7e\u00a1-\uffff]/g, "?");
  return clean.length > MAX_NAME_IN_MESSAGE ? `${clean.slice(0, MAX_NAME_IN_MESSAGE)}...` : clean;
}
