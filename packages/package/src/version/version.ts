import { compare, SemVer } from "semver";

/**
 * A version. An interface of this package, because the types of `semver` are in a package that our users do not
 * install. {@link parseVersion} makes it.
 */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** The parts of `-rc.1`; none for a release. */
  readonly prerelease: readonly (string | number)[];
  /** The parts of `+build.5`; none without build metadata. */
  readonly build: readonly string[];
  /** Without a leading `v` and build metadata. */
  readonly version: string;
  /** The same text as `version`. */
  format(): string;
}

/** Orders versions: negative if `a` is the older one. Build metadata does not count. */
export function compareVersions(a: Version, b: Version): number {
  return compare(semverOf(a), semverOf(b));
}

// Sorting the thousands of tags of a repository would parse each text many times.
function semverOf(version: Version): SemVer | string {
  return version instanceof SemVer ? version : version.version;
}

// Longer texts are refused before the expression below sees them.
const MAX_VERSION = 128;
const VERSION =
  /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;
const COMPLETE = /^v?(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:[-+]|$)/;

const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

/**
 * Reads a version as Crossplane does: a leading `v`, leading zeros and missing numbers are fine. Undefined for another
 * text, and for numbers beyond 2^53.
 */
export function parseVersion(text: string): Version | undefined {
  if (text.length > MAX_VERSION) return undefined;
  const parts = VERSION.exec(text);
  if (parts === null) return undefined;
  const [, major = "0", minor = "0", patch = "0", pre, build] = parts;
  const end = `${pre === undefined ? "" : `-${pre}`}${build === undefined ? "" : `+${build}`}`;
  try {
    return new SemVer(`${Number(major)}.${Number(minor)}.${Number(patch)}${end}`);
  } catch {
    return undefined;
  }
}

/**
 * Reads a tag that names one version. Undefined for `v1` and `v1.2`: registries move such tags from version to
 * version.
 */
export function parseTag(tag: string): Version | undefined {
  return COMPLETE.test(tag) ? parseVersion(tag) : undefined;
}

/** Whether the text is the digest of an image, which can stand for a version. */
export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}
