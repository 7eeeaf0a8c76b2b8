import { ImageError } from "@xfn/oci-rootfs";
import {
  canonicalRegistry,
  DEFAULT_REGISTRY,
  isLayoutName,
  isRegistry,
  layoutPath,
  parseReference,
  type Reference,
  resolveImageName,
} from "@xfn/oci-rootfs/image-name";
import { RunnerGrpcError } from "@xfn/runner-grpc";

/** An image as its one name, and what patterns are held against. */
export interface NormalImage {
  /** Handed on in place of the caller's spelling, so that what was allowed is what is run. */
  readonly name: string;
  /** `registry/repository`, or `oci:` and an absolute path. */
  readonly place: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/** Whether an image may be run. */
export type ImagePattern = (image: NormalImage) => boolean;

/** The one name of an image: `busybox` and `index.docker.io/library/busybox:latest` are the same. @throws RunnerGrpcError `InvalidRequest` */
export function normalImage(image: string, defaultRegistry: string | undefined): NormalImage {
  if (isLayoutName(image)) {
    // The caller's working directory is not ours.
    if (layoutPath(image)?.startsWith("/") !== true)
      throw invalid(image, `${image}: a runner takes oci: and an absolute path`);
    const place = resolveImageName(image, "/");
    return { name: place, place, tag: undefined, digest: undefined };
  }
  const reference = readReference(image, defaultRegistry);
  // A name without a registry stays one: it is looked up among the images that were built here first.
  const name = reference.qualified ? reference.toString() : image;
  const place = `${reference.registry}/${reference.repository}`;
  return { name, place, tag: reference.tag, digest: reference.digest };
}

/**
 * Reads a pattern of images:
 *
 * | pattern | allows |
 * |---|---|
 * | `registry.example.org/team` | that repository, and those below it |
 * | `ghcr.io/team-*` | `*` is any text without a slash, `**` any text |
 * | `registry.example.org/fn:v1` | that tag only, and no digest: what a digest names may be anything |
 * | `registry.example.org/fn@sha256:...` | that digest only |
 * | `busybox` | as in image names: `docker.io/library/busybox` |
 * | `oci:/srv/images` | layouts in that folder |
 *
 * @throws Error that says what is wrong with it
 */
export function parseImagePattern(text: string, defaultRegistry: string | undefined): ImagePattern {
  if (isLayoutName(text)) {
    if (layoutPath(text)?.startsWith("/") !== true)
      throw new Error("a pattern of layouts is oci: and an absolute path");
    const matches = placePattern(resolveImageName(text, "/"));
    return ({ place }) => matches(place);
  }
  const [rest = "", digest, ...more] = text.split("@");
  if (more.length > 0 || (digest !== undefined && !/^sha(256|512):[0-9a-f]{64,128}$/.test(digest)))
    throw new Error("what follows the @ is to be a sha256 or sha512 digest");
  const colon = rest.lastIndexOf(":");
  const tagged = colon > rest.lastIndexOf("/");
  const tag = tagged ? rest.slice(colon + 1) : undefined;
  const place = tagged ? rest.slice(0, colon) : rest;
  if (
    !/^[\w.*-]+(?::\d+)?(?:\/[\w.*-]+)*\/?$/.test(place) &&
    !/^\[[0-9a-fA-F:.]+\](?::\d+)?(?:\/[\w.*-]+)*\/?$/.test(place)
  )
    throw new Error("it is to be [REGISTRY/]REPOSITORY[:TAG][@DIGEST], with * and ** for parts of it");
  const named = normalPlace(place, defaultRegistry);
  // A tag or a digest belongs to one repository.
  const matchesPlace = tag === undefined && digest === undefined ? placePattern(named) : globPattern(named);
  const matchesTag = tag === undefined ? undefined : globPattern(tag);
  return (image) => {
    if (isLayoutName(image.place) || !matchesPlace(image.place)) return false;
    if (digest !== undefined) return image.digest === digest;
    // Beside a digest a tag is decoration.
    return matchesTag === undefined || (image.digest === undefined && matchesTag(image.tag ?? ""));
  };
}

function readReference(image: string, defaultRegistry: string | undefined): Reference {
  try {
    return parseReference(image, { defaultRegistry });
  } catch (error) {
    if (error instanceof ImageError) throw invalid(image, error.message);
    throw error;
  }
}

function invalid(image: string, message: string): RunnerGrpcError {
  return new RunnerGrpcError("InvalidRequest", message, { image });
}

function normalPlace(place: string, defaultRegistry = DEFAULT_REGISTRY): string {
  const path = place.endsWith("/") ? place.slice(0, -1) : place;
  if (/^\*+$/.test(path)) return "**";
  const [first = "", ...others] = path.split("/");
  const named = isRegistry(first) || /^\*+$/.test(first);
  const registry = canonicalRegistry(named ? first : defaultRegistry);
  const repository = named ? others : [first, ...others];
  const official = registry === DEFAULT_REGISTRY && repository.length === 1 && repository[0]?.startsWith("*") !== true;
  return [registry, ...(official ? ["library"] : []), ...repository].join("/");
}

// Itself, and what is below it.
function placePattern(pattern: string): (place: string) => boolean {
  const own = globPattern(pattern);
  const below = globPattern(`${pattern}/**`);
  return (place) => own(place) || below(place);
}

// Bounded by the pattern, which is the operator's, and the name, which has at most 1024 characters: no stars beside each other,
// so that the backtracking is polynomial at most.
function globPattern(pattern: string): (text: string) => boolean {
  const source = pattern
    .replace(/\*{3,}/g, "**")
    .split(/(\*+)/)
    .map((part) =>
      part === "**" ? ".*" : part === "*" ? "[^/]*" : part.replace(/[.+?^${}()|[\]\\/]/g, String.raw`\$&`),
    )
    .join("");
  const expression = new RegExp(`^${source}$`, "u");
  return (text) => expression.test(text);
}
