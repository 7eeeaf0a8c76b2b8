import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ImageError } from "../base/errors.ts";
import { isDigest } from "./digest.ts";
import { DEFAULT_REGISTRY, isRegistry, readRegistryHost } from "./registry-host.ts";

export { canonicalRegistry, DEFAULT_REGISTRY, isRegistry, registryEndpoint } from "./registry-host.ts";

declare const CANONICAL: unique symbol;

/** The name of an image: an OCI layout on disk, or a reference that the store or a registry resolves. */
export type ImageName = LayoutName | Reference;

/** An image in an OCI image layout: `oci:DIR[:TAG]`. */
export interface LayoutName {
  readonly kind: "layout";
  /** Absolute. */
  readonly dir: string;
  /** Absent: the layout's only image. */
  readonly tag?: string;
  /** The full name: `oci:/absolute/dir:tag`. */
  toString(): string;
}

/**
 * An image at a registry, in the form that the OCI distribution specification calls a reference. Only
 * {@link parseReference} makes one, in one spelling for each image: policies compare references, and never texts.
 */
export interface Reference {
  readonly [CANONICAL]: "reference";
  readonly kind: "registry";
  /** Host and port: `docker.io`, `registry.example:5000`. The default port 443 is left out. */
  readonly registry: string;
  /** `library/busybox` */
  readonly repository: string;
  /** Absent only if there is a digest. */
  readonly tag?: string;
  readonly digest?: string;
  /** Whether the text has neither a tag nor a digest, so that `latest` is meant. */
  readonly isTagImplied: boolean;
  /** Registry and repository: `docker.io/library/busybox`. */
  readonly location: string;
  /** False if the text named no registry: the local store is searched for such a name first. */
  readonly qualified: boolean;
  /** The name without a registry, under which `xfn build -t` stores an image: `busybox:latest`. */
  readonly localName: string;
  /** The full name: `docker.io/library/busybox:latest`. Parsing it gives the same reference. */
  toString(): string;
}

/** An image that only the local store is asked for: `store:NAME`, or a name without a registry. */
export interface StoreName {
  readonly kind: "store";
  /** As the caller wrote it, without `store:`. */
  readonly name: string;
  readonly reference: Reference;
}

/** The source or destination of a copy. */
export type ImageLocation = ImageName | StoreName;

export interface ImageNameOptions {
  /** The registry of names without one. Default `docker.io`. */
  readonly defaultRegistry?: string | undefined;
}

const LAYOUT_PREFIX = "oci:";
const STORE_PREFIX = "store:";

// Grammar of the OCI distribution specification, "Pulling manifests".
const REPOSITORY = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

/** Registries refuse longer repository names; the limit also bounds the regular expressions. */
const MAX_REPOSITORY = 255;
/** Registry, repository, tag and the longest digest together. */
const MAX_REFERENCE = 1024;

/** Parses a layout name or a reference. @throws ImageError InvalidReference */
export function parseImageName(text: string, options: ImageNameOptions = {}): ImageName {
  return isLayoutName(text) ? parseLayoutName(text) : parseReference(text, options);
}

/** As `parseImageName`; undefined if the text is not an image name. */
export function tryParseImageName(text: string): ImageName | undefined {
  if (text === LAYOUT_PREFIX) return undefined;
  if (isLayoutName(text)) return parseLayoutName(text);
  const read = readReference(text, {});
  return typeof read === "string" ? undefined : read;
}

/** As `parseImageName`; a name that starts with `store:` or has no registry is one of the store. */
export function parseImageLocation(text: string): ImageLocation {
  if (isLayoutName(text)) return parseLayoutName(text);
  const inStore = text.startsWith(STORE_PREFIX);
  const name = inStore ? text.slice(STORE_PREFIX.length) : text;
  const reference = parseReference(name);
  return inStore || !reference.qualified ? { kind: "store", name, reference } : reference;
}

/** Whether the text states by a prefix, `oci:` or `store:`, where the image is. */
export function hasLocationPrefix(text: string): boolean {
  return isLayoutName(text) || text.startsWith(STORE_PREFIX);
}

export function isLayoutName(text: string): boolean {
  return text.startsWith(LAYOUT_PREFIX);
}

/** The `DIR[:TAG]` of `oci:DIR[:TAG]` as written; undefined for other names and for an empty one. */
export function layoutPath(text: string): string | undefined {
  return isLayoutName(text) && text !== LAYOUT_PREFIX ? text.slice(LAYOUT_PREFIX.length) : undefined;
}

export function formatLayoutName(dir: string, tag?: string): string {
  return `${LAYOUT_PREFIX}${dir}${tag === undefined ? "" : `:${tag}`}`;
}

/** Makes the directory of a layout name absolute, relative to `base`. Other names are returned unchanged. */
export function resolveImageName(text: string, base: string): string {
  const path = layoutPath(text);
  return path === undefined ? text : formatLayoutName(resolve(base, path));
}

/**
 * Parses `oci:DIR[:TAG]`, relative to the working directory. A layout whose directory name contains a colon wins over a
 * tag.
 *
 * @throws ImageError InvalidReference
 */
export function parseLayoutName(text: string): LayoutName {
  const path = layoutPath(text);
  if (path === undefined) throw new ImageError("InvalidReference", "expected oci:DIR or oci:DIR:TAG", { image: text });
  const colon = path.lastIndexOf(":");
  const tag = path.slice(colon + 1);
  if (colon <= 0 || !isTag(tag) || existsSync(join(path, "index.json"))) return layoutName(resolve(path), undefined);
  return layoutName(resolve(path.slice(0, colon)), tag);
}

function layoutName(dir: string, tag: string | undefined): LayoutName {
  const name = formatLayoutName(dir, tag);
  return { kind: "layout", dir, ...(tag !== undefined && { tag }), toString: () => name };
}

/**
 * Parses a reference as other container tools do: `busybox` is `docker.io/library/busybox:latest`; the first component
 * is a registry if it has a dot or a port or is `localhost`.
 *
 * @throws ImageError InvalidReference
 */
export function parseReference(text: string, options: ImageNameOptions = {}): Reference {
  const read = readReference(text, options);
  if (typeof read === "string") throw invalid(text, read);
  return read;
}

/** Parses a registry's host and port, and returns it as references spell it. @throws ImageError InvalidReference */
export function parseRegistry(text: string): string {
  return parseReference("any", { defaultRegistry: text }).registry;
}

/** Names under which the store may have an image, in the order of lookup: what was built locally wins. */
export function storeNames(reference: Reference): readonly [string, ...string[]] {
  const full = reference.toString();
  return reference.qualified ? [full] : [reference.localName, full];
}

function isTag(text: string): boolean {
  return TAG.test(text);
}

/** The reference, or why the text is not one. */
function readReference(text: string, options: ImageNameOptions): Reference | string {
  if (text.length === 0) return "it is empty";
  if (text.length > MAX_REFERENCE) return `it is longer than ${MAX_REFERENCE} characters`;

  let rest = text;
  let digest: string | undefined;
  const at = rest.indexOf("@");
  if (at >= 0) {
    digest = rest.slice(at + 1);
    rest = rest.slice(0, at);
    if (!isDigest(digest)) return "the part after the @ is not a sha256 or sha512 digest";
  }

  let tag: string | undefined;
  const colon = rest.lastIndexOf(":");
  // A colon before the last slash belongs to the registry's port.
  if (colon > rest.lastIndexOf("/")) {
    tag = rest.slice(colon + 1);
    rest = rest.slice(0, colon);
    if (!isTag(tag)) return "a tag is up to 128 letters, digits, dots, dashes and underscores";
  }

  const slash = rest.indexOf("/");
  const first = slash < 0 ? "" : rest.slice(0, slash);
  const qualified = first !== "" && isRegistry(first);
  const fallback = options.defaultRegistry ?? DEFAULT_REGISTRY;
  // Without a dot or a port, the full name would parse as a repository of Docker Hub the next time.
  if (!isRegistry(fallback)) return `the default registry ${JSON.stringify(fallback)} has neither a dot nor a port`;
  const host = qualified ? first : fallback;
  const registry = readRegistryHost(host);
  if (registry === undefined) return `${JSON.stringify(host)} is not a registry: a host, or a host and a port`;
  const path = qualified ? rest.slice(slash + 1) : rest;
  const repository = registry === DEFAULT_REGISTRY && !path.includes("/") ? `library/${path}` : path;

  if (/[A-Z]/.test(path)) return "a repository is written in lower case";
  if (repository.length > MAX_REPOSITORY) return `the repository is longer than ${MAX_REPOSITORY} characters`;
  if (!REPOSITORY.test(repository)) return "expected [REGISTRY/]REPOSITORY[:TAG][@DIGEST]";

  const isTagImplied = tag === undefined && digest === undefined;
  if (isTagImplied) tag = "latest";
  const suffix = `${tag === undefined ? "" : `:${tag}`}${digest === undefined ? "" : `@${digest}`}`;
  const location = `${registry}/${repository}`;
  const name = `${location}${suffix}`;
  return {
    kind: "registry",
    registry,
    repository,
    ...(tag !== undefined && { tag }),
    ...(digest !== undefined && { digest }),
    isTagImplied,
    location,
    qualified,
    localName: `${path}${suffix}`,
    toString: () => name,
  } as Reference;
}

function invalid(text: string, why: string): ImageError {
  return new ImageError("InvalidReference", `cannot read image name ${JSON.stringify(text.slice(0, 200))}: ${why}`);
}
