import { ImageError } from "../base/errors.ts";
import {
  chooseManifest,
  type Descriptor,
  type ImageConfig,
  isIndex,
  type Manifest,
  parseConfig,
  parseManifestOrIndex,
  usedConfig,
} from "../image/manifest.ts";
import type { Platform } from "../image/platform.ts";

/** A manifest or index of a registry. */
export interface ManifestJob {
  readonly bytes: Uint8Array;
  readonly mediaType: string | undefined;
  /** Selects the image of an index. */
  readonly platform: Platform;
}

/** A manifest, or the descriptor of the platform's manifest in an index. */
export type ReadManifest = { readonly manifest: Manifest } | { readonly chosen: Descriptor };

export interface ConfigJob {
  readonly bytes: Uint8Array;
  /** The number of layers in the manifest. */
  readonly layers: number;
}

/** @throws ImageError InvalidManifest, Unsupported, TooLarge, WrongPlatform */
export function readManifestHere({ bytes, mediaType, platform }: ManifestJob): ReadManifest {
  const document = parseManifestOrIndex(bytes, mediaType);
  if (isIndex(document)) return { chosen: bare(chooseManifest(document, platform)) };
  const { mediaType: type, config, layers } = document;
  return { manifest: { mediaType: type, config: bare(config), layers: layers.map(bare) } };
}

/** Without annotations, which can be as long as the document. */
function bare({ mediaType, digest, size }: Descriptor): Descriptor {
  return { mediaType, digest, size };
}

/**
 * The strings of a config that runs need. The runner refuses more for environment and arguments, and labels are for
 * people.
 */
const MAX_USED_CHARACTERS = 1024 * 1024;
const MAX_USED_STRINGS = 16_384;

/** @throws ImageError InvalidManifest, TooLarge */
export function readConfigHere({ bytes, layers }: ConfigJob): ImageConfig {
  const config = usedConfig(parseConfig(bytes, layers));
  const { Env, Entrypoint, Cmd, Labels, User, WorkingDir, Hostname } = config.config ?? {};
  const others = [User, WorkingDir, Hostname, config.os, config.architecture, config.variant];
  const lists = [Env ?? [], Entrypoint ?? [], Cmd ?? [], Object.entries(Labels ?? {}).flat()];
  const strings = [...lists.flat(), ...others.filter((text) => typeof text === "string")];
  const characters = strings.reduce((sum, text) => sum + text.length, 0);
  if (strings.length > MAX_USED_STRINGS || characters > MAX_USED_CHARACTERS)
    throw new ImageError(
      "TooLarge",
      `image config: environment, arguments and labels are ${strings.length} strings of ${characters} characters, ` +
        `more than ${MAX_USED_STRINGS} or ${MAX_USED_CHARACTERS}: build the image with fewer`,
    );
  return config;
}
