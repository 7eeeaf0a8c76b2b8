import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ImageError } from "../base/errors.ts";
import { isDigest } from "./digest.ts";

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

/** An image at a registry, in the form that the OCI distribution specification calls a reference. */
export interface Reference {
  readonly kind: "registry";
  /** Host and port as users write them: `docker.io`, `registry.example:5000`. */
  readonly registry: string;
  /** `library/busybox` */
  readonly repository: string;
  /** Absent only if there is a digest. */
  readonly tag?: string;
  readonly digest?: string;
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

/** Where an image is copied from or to. */
export type ImageLocation = ImageName | StoreName;

export interface ImageNameOptions {
  /** The registry of names without one. Default `docker.io`. */
  readonly defaultRegistry?: string | undefined;
}

export const DEFAULT_REGISTRY = "docker.io";

const LAYOUT_PREFIX = "oci:";
const STORE_PREFIX = "store:";

/** Hosts that Docker's own tools use for Docker Hub. */
const DOCKER_HUB_ALIASES: ReadonlySet<string> = new Set(["index.docker.io", "registry-1.docker.io"]);

// Grammar of the OCI distribution specification, "Pulling manifests".
const REPOSITORY = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const HOST_NAME =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*(?::[0-9]{1,5})?$/;
const HOST_IPV6 = /^\[[0-9A-Fa-f:.]{2,45}\](?::[0-9]{1,5})?$/;

/** Registries refuse longer repository names; the limit also bounds the regular expressions. */
const MAX_REPOSITORY = 255;
/** Registry, repository, tag and the longest digest together. */
const MAX_REFERENCE = 1024;

/** Parses a layout name or a reference. @throws ImageError InvalidReference */
export function parseImageName(text: string, options: ImageNameOptions = {}): ImageName {
  return isLayoutName(text) ? parseLayoutName(text) : parseReference(text, options);
}

/** As `parseImageName`; undefined if the text is not an image name. */
export function tryParseImageName(text: string, options: ImageNameOptions = {}): ImageName | undefined {
  if (text === LAYOUT_PREFIX) return undefined;
  if (isLayoutName(text)) return parseLayoutName(text);
  const read = readReference(text, options);
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

/** Whether the first component of a name is a registry and not a part of the repository. */
export function isRegistry(component: string): boolean {
  return component === "localhost" || component.includes(".") || component.includes(":");
}

/** A registry's host as references spell it: lower case, and one name for Docker Hub. */
export function canonicalRegistry(host: string): string {
  const lower = host.toLowerCase();
  return DOCKER_HUB_ALIASES.has(lower) ? DEFAULT_REGISTRY : lower;
}

/** Host and port of a registry's API, which for Docker Hub differ from its name. */
export function registryEndpoint(registry: string): string {
  return registry === DEFAULT_REGISTRY ? "registry-1.docker.io" : registry;
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
    if (!isDigest(digest)) return "what follows the @ is not a sha256 or sha512 digest";
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
  const problem = problemOfHost(host);
  if (problem !== undefined) return problem;
  const registry = canonicalRegistry(host);
  const path = qualified ? rest.slice(slash + 1) : rest;
  const repository = registry === DEFAULT_REGISTRY && !path.includes("/") ? `library/${path}` : path;

  if (/[A-Z]/.test(path)) return "a repository is written in lower case";
  if (repository.length > MAX_REPOSITORY) return `the repository is longer than ${MAX_REPOSITORY} characters`;
  if (!REPOSITORY.test(repository)) return "expected [REGISTRY/]REPOSITORY[:TAG][@DIGEST]";

  if (tag === undefined && digest === undefined) tag = "latest";
  const suffix = `${tag === undefined ? "" : `:${tag}`}${digest === undefined ? "" : `@${digest}`}`;
  const name = `${registry}/${repository}${suffix}`;
  return {
    kind: "registry",
    registry,
    repository,
    ...(tag !== undefined && { tag }),
    ...(digest !== undefined && { digest }),
    qualified,
    localName: `${path}${suffix}`,
    toString: () => name,
  };
}

function problemOfHost(host: string): string | undefined {
  if (!HOST_NAME.test(host) && !HOST_IPV6.test(host)) return `${JSON.stringify(host)} is not a registry`;
  const port = /:([0-9]+)$/.exec(host.startsWith("[") ? host.slice(host.indexOf("]")) : host)?.[1];
  return port !== undefined && (Number(port) < 1 || Number(port) > 65_535) ? `port ${port} does not exist` : undefined;
}

function invalid(text: string, why: string): ImageError {
  return new ImageError("InvalidReference", `cannot read image name ${JSON.stringify(text.slice(0, 200))}: ${why}`);
}
