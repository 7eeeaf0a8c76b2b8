import { DependencyError } from "../errors/dependency-error.ts";
import { type Constraint, parseConstraint } from "../version/constraint.ts";
import { isDigest, parseVersion, type Version } from "../version/version.ts";
import type { Dependency } from "./dependency.ts";
import type { LockedPackage } from "./lock.ts";

/** A package that another one needs, and which one does. */
export interface Want extends Dependency {
  readonly by: LockedPackage;
  readonly read: WantedVersion;
}

/** The versions that a want admits. */
export type WantedVersion =
  | { readonly kind: "digest"; readonly digest: string }
  | { readonly kind: "constraint"; readonly constraint: Constraint }
  | { readonly kind: "invalid" };

/** The wants of all packages, by the source that they want. */
export function wantsOf(packages: readonly LockedPackage[]): ReadonlyMap<string, readonly Want[]> {
  const wants = packages.flatMap((by) =>
    by.dependencies.map((dependency): Want => ({ ...dependency, by, read: readWanted(dependency.constraint) })),
  );
  return Map.groupBy(wants, (want) => want.package);
}

/**
 * The packages without those that other packages want, but none in the installed version. These are replaced, so their
 * own wants do not count.
 */
export function withoutOutdated(packages: readonly LockedPackage[]): LockedPackage[] {
  const wants = wantsOf(packages);
  return packages.filter(({ source, version }) => wants.get(source)?.some((want) => admits(want, version)) ?? true);
}

function readWanted(text: string): WantedVersion {
  const digest = text.trim();
  if (isDigest(digest)) return { kind: "digest", digest };
  const constraint = parseConstraint(text);
  return constraint === undefined ? { kind: "invalid" } : { kind: "constraint", constraint };
}

/** The version of an installed package: a digest has none, and some tags are none. */
export function installedVersion(text: string): Version | undefined {
  return isDigest(text) ? undefined : parseVersion(text);
}

/** Whether the installed version is one that the want admits. */
export function admits({ read }: Want, version: string): boolean {
  if (read.kind === "digest") return read.digest === version;
  const parsed = installedVersion(version);
  return read.kind === "constraint" && parsed !== undefined && read.constraint.allows(parsed);
}

/** The error of wants whose constraint cannot be read; undefined if all can. */
export function unreadableWants(source: string, wants: readonly Want[]): DependencyError | undefined {
  const invalid = wants.filter(({ read }) => read.kind === "invalid");
  if (invalid.length === 0) return undefined;
  const problem = `the version of ${source} that a package needs is not a valid constraint: ${describeWants(invalid)}`;
  const remedy = "correct spec.dependsOn of that package, such as >=v1.2.0";
  return new DependencyError("Invalid", problem, { package: source, remedy, packages: sourcesOf(wants) });
}

/** `acme/configuration-a wants >=v1.0.0, acme/configuration-b wants <v1.0.0`. */
export function describeWants(wants: readonly Want[]): string {
  const shown = wants.slice(0, MAX_SHOWN).map(({ by, constraint }) => `${by.source} wants ${constraint}`);
  const more = wants.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
}

/** A condition has room for some. */
const MAX_SHOWN = 5;

/** The sources of the packages that want something, in order and once. */
export function sourcesOf(wants: readonly Want[]): string[] {
  return [...new Set(wants.map(({ by }) => by.source))].toSorted();
}
