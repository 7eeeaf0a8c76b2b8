import type { Reference } from "./image-name.ts";
import { canonicalRegistry, DEFAULT_REGISTRY, isRegistry } from "./registry-host.ts";

declare const CANONICAL: unique symbol;

/** A prefix of image names in the only form that images are compared with: see {@link parseImagePrefix}. */
export interface ImagePrefix {
  readonly [CANONICAL]: "prefix";
  /** The length of its canonical text: of two prefixes of an image, the longer one is more specific. */
  readonly length: number;
  readonly host: string;
  /** Undefined: every port. A registry that also listens at another port must not evade a policy. */
  readonly port: string | undefined;
  /** Repositories; empty for all of the host. */
  readonly paths: readonly string[];
  readonly tag: string | undefined;
  readonly digest: string | undefined;
  /** Whether the text ends with a slash, which then does not belong to the rest of a name. */
  readonly endsWithSlash: boolean;
}

/**
 * Reads a prefix of image names: `HOST[:PORT][/PATH][:TAG][@DIGEST]`. It ends where a part of a name does:
 * `registry.example.org/acme` is a prefix of `registry.example.org/acme/fn:v1`, and not of
 * `registry.example.org/acmevil/fn`. Only one that ends with `-`, `_` or `.` stands for all components that begin so.
 * Spellings of a host are equal, as in {@link Reference}. A text without a host is a prefix at Docker Hub.
 *
 * @returns undefined for an empty text
 */
export function parseImagePrefix(text: string): ImagePrefix | undefined {
  const bare = text.replace(/^https?:\/\//i, "");
  if (bare === "") return undefined;
  const [named, digest] = cutAt(bare, bare.indexOf("@"));
  const slash = named.indexOf("/");
  const isHost = slash < 0 ? /^[^:]*\.|^localhost(?::|$)|^\[|:\d+$/.test(named) : isRegistry(named.slice(0, slash));
  const [registry, after = ""] = isHost ? cutAt(named, slash) : [DEFAULT_REGISTRY, named];
  const colon = after.lastIndexOf(":");
  const [path, tag] = cutAt(after, colon > after.lastIndexOf("/") ? colon : -1);
  const [host, port] = splitPort(registry.replace(/\.+(?=:\d+$|$)/, ""));
  const trimmed = path.toLowerCase().split("/").filter(Boolean).join("/");
  // Official images are in library/, which their users leave out.
  const isOfficial = host === DEFAULT_REGISTRY && trimmed !== "" && !trimmed.includes("/");
  const paths = trimmed === "" ? [] : isOfficial ? [trimmed, `library/${trimmed}`] : [trimmed];
  const length = [host, port, trimmed, tag, digest].reduce((sum, part = "") => sum + part.length, 0);
  const endsWithSlash = named.endsWith("/");
  const prefix: Omit<ImagePrefix, typeof CANONICAL> = { length, host, port, paths, tag, digest, endsWithSlash };
  return prefix as ImagePrefix;
}

/**
 * The part of an image's name after a prefix, such as `/fn:v1`.
 *
 * @returns undefined if the image does not have the prefix
 */
export function afterPrefix(prefix: ImagePrefix, image: Reference): string | undefined {
  const [host, port] = splitPort(image.registry);
  if (host !== prefix.host || (prefix.port !== undefined && prefix.port !== (port ?? DEFAULT_PORT))) return undefined;
  const { repository, tag, digest, isTagImplied } = image;
  const version = prefix.tag === undefined && prefix.digest === undefined;
  const rest = prefix.paths.length === 0 ? `/${repository}` : restOfPath(prefix, repository);
  if (rest === undefined) return undefined;
  const given = `${tag === undefined || isTagImplied ? "" : `:${tag}`}${digest === undefined ? "" : `@${digest}`}`;
  if (version) return `${prefix.endsWithSlash ? rest.slice(1) : rest}${given}`;
  const isOfVersion =
    rest === "" &&
    (prefix.tag === undefined || prefix.tag === tag) &&
    (prefix.digest === undefined || prefix.digest === digest);
  if (!isOfVersion) return undefined;
  return prefix.digest === undefined && digest !== undefined ? `@${digest}` : "";
}

const DEFAULT_PORT = "443";

function restOfPath({ paths, endsWithSlash }: ImagePrefix, repository: string): string | undefined {
  for (const path of paths) {
    if (!repository.startsWith(path)) continue;
    const rest = repository.slice(path.length);
    if (rest.startsWith("/") || (rest === "" ? !endsWithSlash : /[-_.]$/.test(path))) return rest;
  }
  return undefined;
}

function splitPort(registry: string): [host: string, port: string | undefined] {
  const [, host = registry, port] = /^(.*?)(?::(\d+))?$/.exec(canonicalRegistry(registry)) ?? [];
  const isDefault = port === undefined && /:0*443$/.test(registry);
  return [host, isDefault ? DEFAULT_PORT : port];
}

function cutAt(text: string, at: number): [string, string | undefined] {
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
