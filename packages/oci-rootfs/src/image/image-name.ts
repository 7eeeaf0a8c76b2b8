import { ImageError } from "../base/errors.ts";
import { isDigest } from "./digest.ts";

/** An image at a registry, in the form that the distribution specification calls a reference. */
export interface Reference {
  /** Host and port as the user knows it: `docker.io`, `registry.example:5000`. */
  readonly registry: string;
  /** `library/busybox` */
  readonly repository: string;
  /** Absent only where there is a digest. */
  readonly tag?: string;
  readonly digest?: string;
  /** False where the text named no registry: such a name is looked up in the local store first. */
  readonly qualified: boolean;
  /** The name without a registry, as `xfn build -t` files it: `busybox:latest`. */
  readonly localName: string;
  /** The whole name: `docker.io/library/busybox:latest`. Reading it again gives the same reference. */
  toString(): string;
}

export const DEFAULT_REGISTRY = "docker.io";

// Grammar of the distribution specification, "Pulling manifests".
const REPOSITORY = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const HOST_NAME =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*(?::[0-9]{1,5})?$/;
const HOST_IPV6 = /^\[[0-9A-Fa-f:.]{2,45}\](?::[0-9]{1,5})?$/;

/** Registries refuse longer names; the limit also bounds the regular expressions. */
const MAX_NAME = 255;
/** Registry, repository, tag and the longest digest together. */
const MAX_REFERENCE = 1024;

/** Whether the text may stand after the colon of a name. */
export function isTag(text: string): boolean {
  return TAG.test(text);
}

/**
 * Reads an image name as the field does: `busybox` is `docker.io/library/busybox:latest`; the first component is a
 * registry if it has a dot or a port or is `localhost`.
 *
 * @param options.defaultRegistry where names without a registry belong; default `docker.io`
 * @throws ImageError InvalidReference
 */
export function parseReference(text: string, options: { defaultRegistry?: string } = {}): Reference {
  if (text.length === 0) throw invalid(text, "it is empty");
  if (text.length > MAX_REFERENCE) throw invalid(text, `it is longer than ${MAX_REFERENCE} characters`);

  let rest = text;
  let digest: string | undefined;
  const at = rest.indexOf("@");
  if (at >= 0) {
    digest = rest.slice(at + 1);
    rest = rest.slice(0, at);
    if (!isDigest(digest)) throw invalid(text, "what follows the @ is not a sha256 or sha512 digest");
  }

  let tag: string | undefined;
  const colon = rest.lastIndexOf(":");
  // A colon before the last slash belongs to the registry's port.
  if (colon > rest.lastIndexOf("/")) {
    tag = rest.slice(colon + 1);
    rest = rest.slice(0, colon);
    if (!isTag(tag)) throw invalid(text, "a tag is up to 128 letters, digits, dots, dashes and underscores");
  }

  const slash = rest.indexOf("/");
  const first = slash < 0 ? "" : rest.slice(0, slash);
  const qualified = first !== "" && looksLikeHost(first);
  const fallback = options.defaultRegistry ?? DEFAULT_REGISTRY;
  // Without a dot or a port the full name would read as a repository of Docker Hub the next time.
  if (!looksLikeHost(fallback))
    throw invalid(text, `the default registry ${JSON.stringify(fallback)} has neither a dot nor a port`);
  const registry = canonicalHost(qualified ? first : fallback, text);
  const path = qualified ? rest.slice(slash + 1) : rest;
  const repository = registry === DEFAULT_REGISTRY && !path.includes("/") ? `library/${path}` : path;

  if (/[A-Z]/.test(path)) throw invalid(text, "a repository is written in lower case");
  if (repository.length > MAX_NAME) throw invalid(text, `the repository is longer than ${MAX_NAME} characters`);
  if (!REPOSITORY.test(repository)) throw invalid(text, "expected [REGISTRY/]REPOSITORY[:TAG][@DIGEST]");

  if (tag === undefined && digest === undefined) tag = "latest";
  const suffix = `${tag === undefined ? "" : `:${tag}`}${digest === undefined ? "" : `@${digest}`}`;
  const name = `${registry}/${repository}${suffix}`;
  return {
    registry,
    repository,
    ...(tag !== undefined && { tag }),
    ...(digest !== undefined && { digest }),
    qualified,
    localName: `${path}${suffix}`,
    toString: () => name,
  };
}

/** Host and port that answer for a registry: Docker Hub's API lives elsewhere than its name says. */
export function registryEndpoint(registry: string): string {
  return registry === DEFAULT_REGISTRY ? "registry-1.docker.io" : registry;
}

function looksLikeHost(component: string): boolean {
  return component === "localhost" || component.includes(".") || component.includes(":");
}

function canonicalHost(host: string, text: string): string {
  if (!HOST_NAME.test(host) && !HOST_IPV6.test(host)) throw invalid(text, `${JSON.stringify(host)} is not a registry`);
  const port = /:([0-9]+)$/.exec(host.startsWith("[") ? host.slice(host.indexOf("]")) : host)?.[1];
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))
    throw invalid(text, `port ${port} does not exist`);
  const lower = host.toLowerCase();
  return lower === "index.docker.io" || lower === "registry-1.docker.io" ? DEFAULT_REGISTRY : lower;
}

function invalid(text: string, why: string): ImageError {
  return new ImageError("InvalidReference", `cannot read image name ${JSON.stringify(text.slice(0, 200))}: ${why}`);
}
