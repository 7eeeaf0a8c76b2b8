import { isObject } from "@xfn/json";
import type { Image } from "@xfn/oci-rootfs";
import { tryParseImageName } from "@xfn/oci-rootfs/image-name";
import { readPackageJson } from "./package-json.ts";
import type { PackageMetadata } from "./package-yaml.ts";

// Longer texts are ignored: they are not titles or descriptions.
const MAX_TEXT = 4096;

const KEY = "org.opencontainers.image.";

/**
 * The annotations that registries show (OCI image-spec, "Pre-Defined Annotation Keys"), from the package's own
 * annotations, else from `package.json`. Without time and revision, so that the same folder gives the same image.
 *
 * @throws InputError if `package.json` is not JSON
 */
export function packageAnnotations(dir: string, metadata: PackageMetadata): Record<string, string> {
  const json = readPackageJson(dir);
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

/**
 * The annotations of the base. Names in the local store or on disk are left out: they mean nothing on other machines.
 */
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

/** The web address of an npm repository. Other forms, such as `github:owner/name`, are left out. */
function sourceUrl(repository: unknown): string | undefined {
  const text = isObject(repository) ? repository["url"] : repository;
  if (typeof text !== "string") return undefined;
  const url = text.replace(/^git\+/, "");
  return /^https?:\/\//.test(url) && URL.canParse(url) ? url.replace(/\.git$/, "") : undefined;
}
