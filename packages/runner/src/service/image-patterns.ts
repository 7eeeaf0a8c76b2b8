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

/** The canonical name of an image, and the parts that patterns match. */
export interface NormalImage {
  /** Replaces the caller's spelling, so that the allowed image is the one that runs. */
  readonly name: string;
  /** `registry/repository`, or `oci:` and an absolute path. */
  readonly location: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/** Whether an image may be run. */
export type ImagePattern = (image: NormalImage) => boolean;

/**
 * The canonical name of an image, such as `docker.io/library/busybox:latest` for `busybox`.
 *
 * @throws RunnerGrpcError `InvalidRequest`
 */
export function normalImage(image: string, defaultRegistry: string | undefined): NormalImage {
  if (isLayoutName(image)) {
    // The runner's working directory differs from the caller's.
    if (layoutPath(image)?.startsWith("/") !== true)
      throw invalid(image, `${image}: a runner requires oci: with an absolute path`);
    const location = resolveImageName(image, "/");
    return { name: location, location, tag: undefined, digest: undefined };
  }
  const reference = readReference(image, defaultRegistry);
  // A name without a registry is kept: the store looks it up among local images first.
  const name = reference.qualified ? reference.toString() : image;
  return { name, location: reference.location, tag: reference.tag, digest: reference.digest };
}

/**
 * Parses a pattern of images:
 *
 * - `registry.example.org/team` allows that repository and all below it.
 * - `ghcr.io/team-*`: `*` matches any text without a slash, `**` any text.
 * - `registry.example.org/fn:v1` allows that tag only, and no digest, because a digest may name any image.
 * - `registry.example.org/fn@sha256:...` allows that digest only.
 * - `busybox` means `docker.io/library/busybox`, as in image names.
 * - `oci:/srv/images` allows layouts in that folder.
 *
 * @throws Error with the problem
 */
export function parseImagePattern(text: string, defaultRegistry: string | undefined): ImagePattern {
  if (isLayoutName(text)) {
    if (layoutPath(text)?.startsWith("/") !== true)
      throw new Error("a pattern of layouts is oci: and an absolute path");
    const matches = locationPattern(resolveImageName(text, "/"));
    return ({ location }) => matches(location);
  }
  const [rest = "", digest, ...more] = text.split("@");
  if (more.length > 0 || (digest !== undefined && !/^sha(256|512):[0-9a-f]{64,128}$/.test(digest)))
    throw new Error("the text after @ must be a sha256 or sha512 digest");
  const colon = rest.lastIndexOf(":");
  const tagged = colon > rest.lastIndexOf("/");
  const tag = tagged ? rest.slice(colon + 1) : undefined;
  const location = tagged ? rest.slice(0, colon) : rest;
  if (
    !/^[\w.*-]+(?::\d+)?(?:\/[\w.*-]+)*\/?$/.test(location) &&
    !/^\[[0-9a-fA-F:.]+\](?::\d+)?(?:\/[\w.*-]+)*\/?$/.test(location)
  )
    throw new Error("it must be [REGISTRY/]REPOSITORY[:TAG][@DIGEST], with * and ** as wildcards");
  const named = normalLocation(location, defaultRegistry);
  // A tag or a digest belongs to one repository.
  const matchesLocation = tag === undefined && digest === undefined ? locationPattern(named) : globPattern(named);
  const matchesTag = tag === undefined ? undefined : globPattern(tag);
  return (image) => {
    if (isLayoutName(image.location) || !matchesLocation(image.location)) return false;
    if (digest !== undefined) return image.digest === digest;
    // A digest takes precedence over a tag.
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

function normalLocation(location: string, defaultRegistry = DEFAULT_REGISTRY): string {
  const path = location.endsWith("/") ? location.slice(0, -1) : location;
  if (/^\*+$/.test(path)) return "**";
  const [first = "", ...others] = path.split("/");
  const named = isRegistry(first) || /^\*+$/.test(first);
  const registry = canonicalRegistry(named ? first : defaultRegistry);
  const repository = named ? others : [first, ...others];
  const official = registry === DEFAULT_REGISTRY && repository.length === 1 && repository[0]?.startsWith("*") !== true;
  return [registry, ...(official ? ["library"] : []), ...repository].join("/");
}

// Matches the repository, and repositories below it.
function locationPattern(pattern: string): (location: string) => boolean {
  const own = globPattern(pattern);
  const below = globPattern(`${pattern}/**`);
  return (location) => own(location) || below(location);
}

// Backtracking is at most polynomial, because stars are never adjacent. The operator writes the pattern, and a name has
// at most 1024 characters.
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
