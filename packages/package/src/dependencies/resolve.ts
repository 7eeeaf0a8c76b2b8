import { DependencyError } from "../errors/dependency-error.ts";
import { dnsLabel } from "../kind/names.ts";
import type { PackageKind } from "../kind/package-kind.ts";
import { isDigest } from "../version/version.ts";
import { chooseVersion, versionsIn } from "./choose-version.ts";
import { cyclesIn } from "./cycles.ts";
import type { LockedPackage } from "./lock.ts";
import {
  admits,
  describeWants,
  installedVersion,
  sourcesOf,
  unreadableWants,
  type Want,
  wantsOf,
  withoutOutdated,
} from "./wants.ts";

/** A package to install. */
export interface Installation {
  readonly kind: PackageKind;
  /** The name that Crossplane gives to the object. */
  readonly name: string;
  /** The value of `spec.package`. */
  readonly package: string;
  readonly source: string;
}

/** A package as its user installed it. */
export interface PackageObject {
  readonly kind: PackageKind;
  readonly name: string;
  /** The tag or digest in `spec.package`. */
  readonly version: string;
}

/** Which changes of installed packages are allowed. Downgrades include upgrades. */
export type VersionChanges = "none" | "upgrades" | "downgrades";

/** The state of the server beside the Lock. */
export interface KnownPackages {
  /** By source. */
  readonly objects?: ReadonlyMap<string, PackageObject> | undefined;
  /** Default: none. */
  readonly changes?: VersionChanges | undefined;
}

/** The result of {@link resolveDependencies}. */
export interface Resolution {
  /** In the order of their sources. */
  readonly install: readonly Installation[];
  /** Packages whose object needs another `spec.package`. */
  readonly update: readonly Installation[];
  /** Sources of which the tags are needed: list them, and resolve again. */
  readonly unlisted: readonly string[];
  readonly problems: readonly DependencyError[];
}

/**
 * Decides which packages to install so that the dependencies of the installed packages are satisfied, and which to
 * update as far as changes are allowed. It does not look ahead: the dependencies of a new package are known once it is
 * installed, and the next call resolves them. A package whose object exists is being installed.
 *
 * @param tags - by source, as far as they are known
 */
export function resolveDependencies(
  packages: readonly LockedPackage[],
  tags: ReadonlyMap<string, readonly string[]>,
  { objects, changes = "none" }: KnownPackages = {},
): Resolution {
  const problems: DependencyError[] = [];
  const counted = changes === "none" ? packages : withoutOutdated(packages);
  const cycles = cycleErrors(counted);
  problems.push(...cycles);
  const inCycle = new Set(cycles.flatMap((cycle) => cycle.packages));
  const installed = Map.groupBy(packages, ({ source }) => source);
  const install: Installation[] = [];
  const update: Installation[] = [];
  const unlisted: string[] = [];
  for (const [source, wants] of inOrder(wantsOf(counted))) {
    const kind = commonKind(source, wants);
    const present = installed.get(source);
    const object = objects?.get(source);
    // A package of a cycle never gets healthy, so nothing is installed or updated for it alone.
    const isCyclic = wants.every(({ by }) => inCycle.has(by.source));
    const isReplaceable = changes !== "none" && object?.kind === kind && !isCyclic && (present?.length ?? 0) < 2;
    if (kind instanceof DependencyError) problems.push(kind);
    else if (object !== undefined && isReplaceable) {
      const version = replacementOf(source, wants, tags.get(source), object, changes === "downgrades");
      if (version === undefined) unlisted.push(source);
      else if (typeof version !== "string") problems.push(version);
      else if (version !== object.version) update.push({ ...installation(kind, source, version), name: object.name });
    } else if (present !== undefined) problems.push(...installedProblems(present, wants, tags.get(source)));
    else if (object === undefined && !isCyclic) {
      const version = chooseVersion(source, wants, tags.get(source));
      if (version === undefined) unlisted.push(source);
      else if (typeof version === "string") install.push(installation(kind, source, version));
      else problems.push(version);
    }
  }
  return { ...onePerName(install, problems), update, unlisted };
}

/** The version that a package object must have: its own if all wants admit it. */
function replacementOf(
  source: string,
  wants: readonly Want[],
  tags: readonly string[] | undefined,
  object: PackageObject,
  mayDowngrade: boolean,
): string | DependencyError | undefined {
  if (wants.every((want) => admits(want, object.version))) return object.version;
  const version = installedVersion(object.version);
  if (version !== undefined || wants.some(({ read }) => read.kind === "digest"))
    return chooseVersion(source, wants, tags, version && { version, mayDowngrade });
  // Without a version, nothing shows which of the wanted ones are upgrades.
  return installedProblems([{ ...object, source, dependencies: [] }], wants, undefined)[0];
}

/** Errors of the dependencies of packages on each other. */
export function cycleErrors(packages: readonly LockedPackage[]): DependencyError[] {
  const needs = new Map(
    [...Map.groupBy(packages, ({ source }) => source)].map(([source, of]) => [
      source,
      of.flatMap(({ dependencies }) => dependencies.map((dependency) => dependency.package)),
    ]),
  );
  return cyclesIn(needs).map((cycle) => {
    const [first = ""] = cycle;
    const path = [...cycle, first].join(" -> ");
    const remedy = "remove one of these dependencies, and install that package's new version";
    return new DependencyError("Cycle", `packages depend on each other: ${path}`, {
      package: first,
      packages: cycle,
      remedy,
    });
  });
}

function commonKind(source: string, wants: readonly Want[]): PackageKind | DependencyError {
  const kinds = [...new Set(wants.map(({ kind }) => kind))].toSorted();
  const [kind = "Provider", second] = kinds;
  if (second === undefined) return kind;
  const shown = wants.map((want) => `${want.by.source} as a ${want.kind}`).join(", ");
  return new DependencyError("Conflict", `packages want ${source} as different kinds: ${shown}`, {
    package: source,
    packages: sourcesOf(wants),
    remedy: "correct spec.dependsOn of the package that names the wrong kind",
  });
}

/** Conflicts between an installed package and the packages that depend on it. */
export function installedProblems(
  present: readonly LockedPackage[],
  wants: readonly Want[],
  tags: readonly string[] | undefined,
): DependencyError[] {
  const [it, twin] = present;
  if (it === undefined) return [];
  const { source, version, kind } = it;
  const fail = (code: "Conflict" | "Invalid", problem: string, remedy: string): DependencyError[] => [
    new DependencyError(code, problem, { package: source, remedy, packages: sourcesOf(wants) }),
  ];
  if (twin !== undefined) {
    const names = present.map(({ name }) => name).join(" and ");
    return fail("Conflict", `${source} is installed more than once, as ${names}`, "delete one of the two");
  }
  const wrongKind = wants.find((want) => want.kind !== kind);
  if (wrongKind !== undefined) {
    const problem = `${source} is a ${kind}, and ${wrongKind.by.source} wants it as a ${wrongKind.kind}`;
    return fail("Conflict", problem, "correct spec.dependsOn of the package that names the wrong kind");
  }
  const unreadable = unreadableWants(source, wants);
  if (unreadable !== undefined) return [unreadable];
  const unmet = wants.filter((want) => !admits(want, version));
  if (unmet.length === 0) return [];
  if (installedVersion(version) === undefined && unmet.every(({ read }) => read.kind === "constraint")) {
    const what = isDigest(version) ? "by its digest" : `at the tag ${version}`;
    const problem = `${source} is installed ${what}, which tells no version: ${describeWants(unmet)}`;
    return fail("Invalid", problem, "name a tag such as v1.2.0 in spec.package of that package");
  }
  const better = versionsIn(tags ?? []).find(({ tag }) => wants.every((want) => admits(want, tag)));
  const remedy =
    better === undefined
      ? `install a version of ${source} that all of them want, or other versions of them`
      : `set spec.package of that ${kind} to ${source}:${better.tag}`;
  return fail("Conflict", `${source} is installed at ${version}: ${describeWants(unmet)}`, remedy);
}

function installation(kind: PackageKind, source: string, version: string): Installation {
  return {
    kind,
    name: dnsLabel(source.slice(source.indexOf("/") + 1)),
    package: `${source}${isDigest(version) ? "@" : ":"}${version}`,
    source,
  };
}

/** Repositories of two registries can have one path, which is the name of the object. */
function onePerName(
  install: readonly Installation[],
  problems: readonly DependencyError[],
): Pick<Resolution, "install" | "problems"> {
  const byName = Map.groupBy(install, ({ kind, name }) => `${kind}/${name}`);
  const clashes = [...byName.values()].filter(({ length }) => length > 1);
  const errors = clashes.map((group) => {
    const sources = group.map(({ source }) => source);
    const [{ kind, name, source } = { kind: "Provider", name: "", source: "" }] = group;
    return new DependencyError("Conflict", `${sources.join(" and ")} would both be the ${kind} ${name}`, {
      package: source,
      packages: sources,
      remedy: "install one of them yourself, with another name",
    });
  });
  return {
    install: [...byName.values()].filter(({ length }) => length === 1).flat(),
    problems: [...problems, ...errors],
  };
}

function inOrder<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
}
