import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isObject, type JsonObject } from "@xfn/functionio";
import { unreadable } from "@xfn/input";
import type { Image } from "@xfn/oci-rootfs";
import { tryParseImageName } from "@xfn/oci-rootfs/image-name";
import type { PackageMetadata } from "./package-yaml.ts";

// A package.json of more than this is none, and an annotation of more than this is no title or description.
const MAX_PACKAGE_JSON_BYTES = 1024 * 1024;
const MAX_TEXT = 4096;

const KEY = "org.opencontainers.image.";

/**
 * What registries and their pages show of an image (image-spec, "Pre-Defined Annotation Keys"), as far as the folder says it: the
 * package's own annotations, else its `package.json`. No time and no revision: the same folder gives the same image.
 *
 * @throws InputError when `package.json` is not JSON
 */
export function packageAnnotations(dir: string, metadata: PackageMetadata): Record<string, string> {
  const json = readPackageJson(join(dir, "package.json"));
  const own = (name: string): string | undefined => metadata.annotations[`meta.crossplane.io/${name}`];
  const author = json["author"];
  const found: Record<string, unknown> = {
    title: metadata.name,
    version: json["version"],
    description: own("description") ?? json["description"],
    licenses: own("license") ?? json["license"],
    authors: own("maintainer") ?? (isObject(author) ? author["name"] : author),
    source: own("source") ?? sourceUrl(json["repository"]),
    url: json["homepage"],
  };
  const texts = Object.entries(found).filter(
    (entry): entry is [string, string] =>
      typeof entry[1] === "string" && entry[1] !== "" && entry[1].length <= MAX_TEXT && entry[1].isWellFormed(),
  );
  return Object.fromEntries(texts.map(([name, value]) => [`${KEY}${name}`, value]));
}

/** What an image stands on. A name of this machine's store or disk means nothing elsewhere, and is left out. */
export function baseAnnotations(base: Image | undefined): Record<string, string> {
  if (base === undefined) return {};
  return {
    ...(isAtRegistry(base.name) && { [`${KEY}base.name`]: base.name }),
    [`${KEY}base.digest`]: base.digest,
  };
}

function isAtRegistry(name: string): boolean {
  const parsed = tryParseImageName(name);
  return parsed?.kind === "registry" && parsed.qualified;
}

function readPackageJson(path: string): JsonObject {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile() || stat.size > MAX_PACKAGE_JSON_BYTES) return {};
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isObject(value) ? value : {};
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** npm's forms of a repository that are web addresses; others (`github:owner/name`) are only npm's. */
function sourceUrl(repository: unknown): string | undefined {
  const text = isObject(repository) ? repository["url"] : repository;
  if (typeof text !== "string") return undefined;
  const url = text.replace(/^git\+/, "");
  return /^https?:\/\//.test(url) && URL.canParse(url) ? url.replace(/\.git$/, "") : undefined;
}
