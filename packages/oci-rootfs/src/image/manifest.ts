import { ImageError } from "../base/errors.ts";
import { type Fields, isObject } from "../base/json.ts";
import { parseDigest } from "./digest.ts";
import {
  CONFIG_TYPES,
  IMAGE_MANIFEST_TYPES,
  INDEX_TYPES,
  LAYER_TYPES,
  OCI_INDEX,
  OCI_MANIFEST,
  WASM_CONFIG_TYPES,
  WASM_LAYER_TYPES,
} from "./media-types.ts";
import { isPortable, type Platform, printPlatform, satisfies } from "./platform.ts";

/** A reference to content (OCI image-spec, "OCI Content Descriptors"). */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: Platform;
}

export interface Manifest {
  readonly mediaType: string;
  readonly config: Descriptor;
  /** Bottom first. */
  readonly layers: readonly Descriptor[];
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ImageIndex {
  readonly mediaType: string;
  readonly manifests: readonly Descriptor[];
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * The image config (OCI image-spec, "OCI Image Configuration"). Only the fields that this package reads are
 * validated.
 */
export interface ImageConfig {
  readonly architecture?: string;
  readonly os?: string;
  readonly variant?: string;
  readonly created?: string;
  readonly author?: string;
  readonly config?: {
    readonly User?: string;
    readonly Env?: readonly string[];
    readonly Entrypoint?: readonly string[];
    readonly Cmd?: readonly string[];
    readonly WorkingDir?: string;
    readonly Hostname?: string;
    readonly Labels?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly rootfs?: { readonly type: string; readonly diff_ids: readonly string[] };
  readonly history?: readonly HistoryEntry[];
  readonly [field: string]: unknown;
}

export interface HistoryEntry {
  readonly created?: string;
  readonly created_by?: string;
  readonly comment?: string;
  readonly empty_layer?: boolean;
}

/** For manifests and indexes. The OCI distribution specification recommends this limit, and registries enforce it. */
export const MAX_MANIFEST_BYTES: number = 4 * 1024 * 1024;
/** For a layout's `index.json`: 1,024 entries of 500 bytes. It is read for each use, on the calling thread. */
export const MAX_LAYOUT_INDEX_BYTES: number = 512 * 1024;
/** Image configs include the history of each layer; the largest observed ones have about 100 KiB. */
export const MAX_CONFIG_BYTES: number = 4 * 1024 * 1024;
/** Docker allows 127 and overlayfs 500. */
export const MAX_LAYERS = 256;
/** For one compressed layer; registries allow 10 GiB or less. */
export const MAX_BLOB_BYTES: number = 32 * 1024 ** 3;
/** The largest official indexes have about 30 platforms, and as many attestations. */
const MAX_INDEX_ENTRIES = 1024;

/** Parses an image's manifest, or an index of several. @throws ImageError InvalidManifest, Unsupported, TooLarge */
export function parseManifestOrIndex(bytes: Uint8Array, contentType?: string): Manifest | ImageIndex {
  const fields = parseObject(bytes, "manifest");
  const mediaType = declaredType(fields, contentType);
  // Two tools could read a document that is both in different ways (CVE-2021-41190).
  if (fields["layers"] !== undefined && fields["manifests"] !== undefined)
    throw invalid("manifest has layers and manifests");
  if (INDEX_TYPES.has(mediaType)) return parseIndex(fields, mediaType);
  if (IMAGE_MANIFEST_TYPES.has(mediaType)) return parseManifest(fields, mediaType);
  throw new ImageError(
    "Unsupported",
    `cannot read a manifest of type ${JSON.stringify(mediaType)}: build the image with a current tool`,
  );
}

export function isIndex(document: Manifest | ImageIndex): document is ImageIndex {
  return INDEX_TYPES.has(document.mediaType);
}

/** @throws ImageError WrongPlatform, which names the available platforms */
export function chooseManifest(index: ImageIndex, wanted: Platform): Descriptor {
  // Nested indexes could form a chain without end. Images use one level.
  const images = index.manifests.filter((entry) => IMAGE_MANIFEST_TYPES.has(entry.mediaType));
  const fitting = images.filter((entry) => entry.platform !== undefined && satisfies(entry.platform, wanted));
  const exact = fitting.find((entry) => entry.platform?.variant === wanted.variant);
  const portable = images.find(({ platform }) => platform !== undefined && isPortable(platform));
  const chosen =
    exact ?? fitting[0] ?? portable ?? images.find((entry) => images.length === 1 && entry.platform === undefined);
  if (chosen !== undefined) return chosen;
  if (images.length === 0) throw invalid("index has no image manifest (an index within an index is not followed)");
  throw wrongPlatform(
    wanted,
    images.flatMap((entry) => (entry.platform === undefined ? [] : [entry.platform])),
  );
}

/** @throws ImageError WrongPlatform if the config names another platform */
export function checkPlatform(config: ImageConfig, wanted: Platform): void {
  const { os, architecture, variant } = config;
  if (!os || !architecture) return;
  const offered = { os, architecture, ...(variant !== undefined && variant !== "" && { variant }) };
  if (!isPortable(offered) && !satisfies(offered, wanted)) throw wrongPlatform(wanted, [offered]);
}

function wrongPlatform(wanted: Platform, offered: readonly Platform[]): ImageError {
  const real = offered.filter(({ os }) => os !== "unknown").map(printPlatform);
  const list = real.length === 0 ? "none" : [...new Set(real)].sort().join(", ");
  return new ImageError("WrongPlatform", `no image for ${printPlatform(wanted)}; there is: ${list}`);
}

/** Parses and validates an image config. @throws ImageError InvalidManifest */
export function parseConfig(bytes: Uint8Array, layers: number): ImageConfig {
  const fields = parseObject(bytes, "image config");
  for (const name of ["architecture", "os", "variant"]) optional(fields, name, isString, "a string");
  const run = fields["config"];
  if (run !== undefined && run !== null) {
    if (!isObject(run)) throw invalid("image config: config is not an object");
    for (const name of ["User", "WorkingDir", "Hostname"]) optional(run, name, isString, "a string");
    for (const name of ["Env", "Entrypoint", "Cmd"]) optional(run, name, isStrings, "a list of strings");
    optional(run, "Labels", isStringMap, "a map of strings");
  }
  const rootfs = fields["rootfs"];
  const diffIds = isObject(rootfs) ? rootfs["diff_ids"] : undefined;
  if (!isStrings(diffIds)) throw invalid("image config: rootfs.diff_ids is missing");
  diffIds.forEach((diffId) => parseDigest(diffId));
  if (diffIds.length !== layers) throw invalid(`image config names ${diffIds.length} layers, the manifest ${layers}`);
  return { ...fields, config: run ?? {} };
}

const CONFIG_FIELDS = ["architecture", "os", "variant"];
const RUN_FIELDS = ["User", "Env", "Entrypoint", "Cmd", "WorkingDir", "Hostname", "Labels"];

/** Returns the part of an image config that runs need. The rest can take 100 MB of memory, such as the history. */
export function usedConfig(config: ImageConfig): ImageConfig {
  const { rootfs } = config;
  return {
    ...pick(config, CONFIG_FIELDS),
    config: pick(config.config ?? {}, RUN_FIELDS),
    ...(rootfs !== undefined && { rootfs: { type: String(rootfs.type), diff_ids: rootfs.diff_ids } }),
  };
}

function pick(fields: Fields, names: readonly string[]): Fields {
  const picked = names.map((name) => [name, fields[name]] as const);
  return Object.fromEntries(picked.filter(([, value]) => value !== undefined && value !== null));
}

function parseManifest(fields: Fields, mediaType: string): Manifest {
  const config = parseDescriptor(fields["config"], "config");
  if (config.size > MAX_CONFIG_BYTES) throw tooLarge("image config", config.size, MAX_CONFIG_BYTES);
  const list = fields["layers"];
  if (!Array.isArray(list)) throw invalid("manifest has no list of layers");
  if (list.length > MAX_LAYERS) throw new ImageError("TooLarge", `${list.length} layers, more than ${MAX_LAYERS}`);
  // A module is the only layer of its image. It is not an archive, and cannot be stacked.
  const [only] = list as unknown[];
  const isModule =
    list.length === 1 && isObject(only) && isString(only["mediaType"]) && WASM_LAYER_TYPES.has(only["mediaType"]);
  if (!(isModule ? WASM_CONFIG_TYPES : CONFIG_TYPES).has(config.mediaType)) {
    throw new ImageError("Unsupported", `not a container image: its config is ${JSON.stringify(config.mediaType)}`);
  }
  const layers = list.map((entry, i) => {
    const layer = parseDescriptor(entry, `layer ${i}`);
    if (!(isModule ? WASM_LAYER_TYPES : LAYER_TYPES).has(layer.mediaType)) {
      throw new ImageError("Unsupported", `cannot unpack media type ${JSON.stringify(layer.mediaType)}`, { layer: i });
    }
    if (layer.size > MAX_BLOB_BYTES) throw tooLarge(`layer ${i}`, layer.size, MAX_BLOB_BYTES);
    return layer;
  });
  return { mediaType, config, layers, ...annotationsOf(fields) };
}

function parseIndex(fields: Fields, mediaType: string): ImageIndex {
  const list = fields["manifests"];
  if (!Array.isArray(list)) throw invalid("index has no list of manifests");
  if (list.length > MAX_INDEX_ENTRIES)
    throw new ImageError("TooLarge", `index of ${list.length} manifests, more than ${MAX_INDEX_ENTRIES}`);
  return {
    mediaType,
    manifests: list.map((entry, i) => parseDescriptor(entry, `manifest ${i}`)),
    ...annotationsOf(fields),
  };
}

/** Parses a layout's `index.json`, where the media type is optional. */
export function parseLayoutIndex(bytes: Uint8Array): ImageIndex {
  return parseIndex(parseObject(bytes, "index.json"), OCI_INDEX);
}

/** Parses a descriptor of any media type. */
export function parseDescriptor(value: unknown, what: string): Descriptor {
  if (!isObject(value)) throw invalid(`${what} is not a descriptor`);
  const { mediaType, digest, size, platform } = value;
  if (!isString(mediaType) || !isString(digest)) throw invalid(`${what} has no media type or no digest`);
  parseDigest(digest);
  if (!Number.isSafeInteger(size) || (size as number) < 0) throw invalid(`${what} has no size`);
  return {
    mediaType,
    digest,
    size: size as number,
    ...annotationsOf(value),
    ...(isObject(platform) && { platform: platformOf(platform) }),
  };
}

function platformOf(fields: Fields): Platform {
  const { os, architecture, variant } = fields;
  const known = { os: isString(os) ? os : "unknown", architecture: isString(architecture) ? architecture : "unknown" };
  return isString(variant) && variant !== "" ? { ...known, variant } : known;
}

function annotationsOf(fields: Fields): { annotations?: Record<string, string> } {
  const annotations = fields["annotations"];
  if (annotations === undefined || annotations === null) return {};
  if (!isStringMap(annotations)) throw invalid("annotations are not a map of strings");
  return { annotations };
}

/** The document's `mediaType` takes precedence, as the specification requires. Old tools omit it. */
export function declaredType(fields: Fields, contentType: string | undefined): string {
  if (isString(fields["mediaType"])) return fields["mediaType"];
  const header = contentType?.split(";")[0]?.trim().toLowerCase();
  if (header !== undefined && /^application\/vnd\.(?:oci|docker)\./.test(header)) return header;
  if (fields["schemaVersion"] !== 2) return `schema version ${String(fields["schemaVersion"])}`;
  return fields["manifests"] === undefined ? OCI_MANIFEST : OCI_INDEX;
}

/** Parses a JSON object. @throws ImageError InvalidManifest */
export function parseObject(bytes: Uint8Array, what: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new ImageError("InvalidManifest", `${what} is not JSON`, { cause });
  }
  if (!isObject(value)) throw invalid(`${what} is not a JSON object`);
  return value;
}

function optional(fields: Fields, name: string, check: (value: unknown) => boolean, kind: string): void {
  const value = fields[name];
  if (value !== undefined && value !== null && !check(value)) throw invalid(`image config: ${name} is not ${kind}`);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isString);
}

function isStringMap(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every(isString);
}

function invalid(why: string): ImageError {
  return new ImageError("InvalidManifest", why);
}

function tooLarge(what: string, size: number, limit: number): ImageError {
  return new ImageError("TooLarge", `${what} is ${size} bytes, more than ${limit}`);
}
