import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { PACKAGE_GROUP, type PackageKind, packageKindOf } from "../kind/package-kind.ts";
import { type Dependency, packageSource } from "./dependency.ts";

/** An installed package, as the Lock records it. */
export interface LockedPackage {
  readonly kind: PackageKind;
  /** The name of its revision. */
  readonly name: string;
  /** Registry and repository. */
  readonly source: string;
  /** A tag or digest. */
  readonly version: string;
  readonly dependencies: readonly Dependency[];
}

/**
 * Reads `packages` of a Lock. Sources get the spelling by which packages are compared. Entries without a kind, a name
 * or a source are left out: no package has written them.
 */
export function readLock(packages: JsonValue | undefined): LockedPackage[] {
  if (!Array.isArray(packages)) return [];
  return packages.flatMap((entry) => {
    if (!isObject(entry)) return [];
    const { name, source, version, dependencies } = entry;
    const kind = kindOf(entry);
    if (kind === undefined || typeof name !== "string" || typeof source !== "string") return [];
    return [
      {
        kind,
        name,
        source: packageSource(source) ?? source,
        version: typeof version === "string" ? version : "",
        dependencies: Array.isArray(dependencies) ? dependencies.flatMap(readDependency) : [],
      },
    ];
  });
}

function readDependency(entry: JsonValue): Dependency[] {
  if (!isObject(entry)) return [];
  const { package: source, constraints } = entry;
  const kind = kindOf(entry);
  if (kind === undefined || typeof source !== "string") return [];
  return [
    { kind, package: packageSource(source) ?? source, constraint: typeof constraints === "string" ? constraints : "" },
  ];
}

/** Older Crossplanes wrote the kind as `type`. */
function kindOf({ kind, type }: JsonObject): PackageKind | undefined {
  return packageKindOf(kind) ?? packageKindOf(type);
}

/** An entry of `packages` of a Lock. */
export function lockEntry({ kind, name, source, version, dependencies }: LockedPackage): JsonObject {
  const apiVersion = `${PACKAGE_GROUP}/v1`;
  return {
    apiVersion,
    kind,
    name,
    source,
    version,
    dependencies: dependencies.map((dependency) => ({
      apiVersion,
      kind: dependency.kind,
      package: dependency.package,
      constraints: dependency.constraint,
    })),
  };
}
