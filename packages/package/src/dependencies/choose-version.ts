import { setImmediate } from "node:timers/promises";
import { DependencyError } from "../errors/dependency-error.ts";
import { compareVersions, parseTag, type Version } from "../version/version.ts";
import { describeWants, sourcesOf, unreadableWants, type Want } from "./wants.ts";

/** An installed version that must be replaced. */
export interface ReplacedVersion {
  readonly version: Version;
  readonly mayDowngrade: boolean;
}

/**
 * Chooses a version of a package: the digest that all wants name, or a tag that all of them admit. That is the newest
 * tag for a package that is not installed. An installed one gets the oldest tag that is not older, or the newest of the
 * older ones. The tags are undefined if they are not known yet.
 *
 * @returns the tag or digest; an error if none fits; undefined if the tags are needed first
 */
export function chooseVersion(
  source: string,
  wants: readonly Want[],
  tags: readonly string[] | undefined,
  replaced?: ReplacedVersion,
): string | DependencyError | undefined {
  const fail = (code: "Conflict" | "Missing", problem: string, remedy: string): DependencyError =>
    new DependencyError(code, problem, { package: source, remedy, packages: sourcesOf(wants) });
  const unreadable = unreadableWants(source, wants);
  if (unreadable !== undefined) return unreadable;
  const digests = new Set(wants.flatMap(({ read }) => (read.kind === "digest" ? [read.digest] : [])));
  if (digests.size > 0) {
    const [digest] = digests;
    const isCommon = digests.size === 1 && wants.every(({ read }) => read.kind === "digest");
    if (isCommon && digest !== undefined) return digest;
    const problem = `packages want ${source} by a digest, and not all by the same: ${describeWants(wants)}`;
    return fail("Conflict", problem, "let all of them name one digest, or constraints");
  }
  if (tags === undefined) return undefined;
  const versions = versionsIn(tags);
  const fits = (version: Version, want: Want): boolean =>
    want.read.kind === "constraint" && want.read.constraint.allows(version);
  const fitsAll = ({ version }: TaggedVersion): boolean => wants.every((want) => fits(version, want));
  const newestFit = versions.find(fitsAll);
  const chosen = replaced === undefined ? newestFit : replacementIn(versions.filter(fitsAll), replaced);
  if (chosen !== undefined) return chosen.tag;
  if (newestFit !== undefined) {
    const problem = `all packages want an older version of ${source} than is installed: ${describeWants(wants)}`;
    const remedy = `set spec.package to ${source}:${newestFit.tag}, or allow downgrades of dependencies`;
    return fail("Conflict", problem, remedy);
  }
  const unmet = wants.filter((want) => !versions.some(({ version }) => fits(version, want)));
  if (unmet.length === 0) {
    const problem = `no version of ${source} is one that all packages want: ${describeWants(wants)}`;
    return fail("Conflict", problem, "use versions of these packages that want the same");
  }
  const newest = versions[0]?.tag;
  const problem = `no version of ${source} is one that a package wants: ${describeWants(unmet)}`;
  const state = newest === undefined ? "the repository has no tag that is a version" : `the newest is ${newest}`;
  return fail("Missing", `${problem}; ${state}`, "push such a version, or use another version of that package");
}

/** @param fitting the newest first */
function replacementIn(
  fitting: readonly TaggedVersion[],
  { version, mayDowngrade }: ReplacedVersion,
): TaggedVersion | undefined {
  const notOlder = fitting.findLast((one) => compareVersions(one.version, version) >= 0);
  return notOlder ?? (mayDowngrade ? fitting[0] : undefined);
}

/** A tag that names one version. */
interface TaggedVersion {
  readonly tag: string;
  readonly version: Version;
}

/** The versions of lists that {@link versionTags} returned. */
const parsed: WeakMap<readonly string[], readonly TaggedVersion[]> = new WeakMap();

/** A parse takes some microseconds. */
const TAGS_PER_TURN = 500;

/**
 * Selects the tags that name one version, the newest first. Gives way to other work, because repositories can have many
 * thousands of tags. The result is quick to resolve against.
 */
export async function versionTags(tags: readonly string[]): Promise<readonly string[]> {
  const versions: TaggedVersion[] = [];
  for (let at = 0; at < tags.length; at += TAGS_PER_TURN) {
    versions.push(...tags.slice(at, at + TAGS_PER_TURN).flatMap(taggedVersion));
    await setImmediate();
  }
  versions.sort(newestFirst);
  const selected = versions.map(({ tag }) => tag);
  parsed.set(selected, versions);
  return selected;
}

/** The tags that name one version, the newest first. The registry's order does not matter. */
export function versionsIn(tags: readonly string[]): readonly TaggedVersion[] {
  return parsed.get(tags) ?? tags.flatMap(taggedVersion).toSorted(newestFirst);
}

function taggedVersion(tag: string): TaggedVersion[] {
  const version = parseTag(tag);
  return version === undefined ? [] : [{ tag, version }];
}

function newestFirst(a: TaggedVersion, b: TaggedVersion): number {
  return compareVersions(b.version, a.version) || (a.tag < b.tag ? -1 : 1);
}
