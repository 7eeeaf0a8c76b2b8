import { readFileSync } from "node:fs";

/** An entry of a package-lock.json. */
export interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[] | string;
  readonly cpu?: readonly string[] | string;
  readonly libc?: readonly string[] | string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const NODE_MODULES = "node_modules/";

/** The packages that npm installs for one on a platform with glibc, by their paths in the lock file. */
export function lockedClosure(lock: URL, name: string, os: string, cpu: string): Map<string, LockedPackage> {
  const { packages } = JSON.parse(readFileSync(lock, "utf8")) as { packages: Record<string, LockedPackage> };
  const found = new Map<string, LockedPackage>();
  const visit = (dependency: string, folder: string): void => {
    const path = resolved(packages, dependency, folder);
    const entry = path === undefined ? undefined : packages[path];
    if (path === undefined || entry === undefined || found.has(path) || !isFor(entry, os, cpu)) return;
    found.set(path, entry);
    // A workspace's dependencies are in the entry of its folder.
    const target = entry.link === true ? (entry.resolved ?? path) : path;
    const { dependencies, optionalDependencies } = packages[target] ?? {};
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) visit(next, target);
  };
  visit(name, "");
  return found;
}

/** Looks in the folder's node_modules and in those of the folders above, as Node does. */
function resolved(packages: Readonly<Record<string, LockedPackage>>, name: string, folder: string): string | undefined {
  for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
    const path = `${at === "" ? "" : `${at}/`}${NODE_MODULES}${name}`;
    if (packages[path] !== undefined) return path;
    if (at === "") return undefined;
  }
}

function isFor(entry: LockedPackage, os: string, cpu: string): boolean {
  const allows = (field: readonly string[] | string | undefined, value: string): boolean =>
    field === undefined || field.includes(value);
  return allows(entry.os, os) && allows(entry.cpu, cpu) && allows(entry.libc, "glibc");
}
