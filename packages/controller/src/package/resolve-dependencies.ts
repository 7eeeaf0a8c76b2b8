import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { parseReference } from "@xfn/oci-rootfs";
import {
  DependencyError,
  type DependencyStatus,
  dependencyStatus,
  type Installation,
  type LockedPackage,
  type PackageKind,
  type PackageObject,
  type Resolution,
  resolveDependencies,
} from "@xfn/package";
import { conditionOf } from "../objects/conditions.ts";
import { FUNCTION_REVISIONS, FUNCTIONS, LOCK_NAME, LOCKS, referenceOf } from "../objects/kinds.ts";
import { type ControllerReference, controllerOf, isBeingDeleted } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { PACKAGES } from "./package-kinds.ts";
import type { PackagePort } from "./package-port.ts";
import { asInstallError, type PackageInstallError } from "./registry/install-error.ts";

/** The dependencies of a revision, and the problems of their installation. */
export interface ResolvedDependencies extends Pick<DependencyStatus, "found" | "installed" | "invalid"> {
  /** Empty if all dependencies are installed in versions that the package accepts. */
  readonly problems: readonly string[];
}

/** The packages to install and to update, and the problems of the others. */
export interface ResolvedLock extends Pick<Resolution, "install" | "update" | "problems"> {
  /** By the source of which the registry lists no versions. */
  readonly failures: ReadonlyMap<string, PackageInstallError>;
}

/** Decides which packages the installed ones need. The reconcile of the Lock writes them. */
export class DependencyResolver {
  readonly #port: Pick<PackagePort, "cluster" | "images" | "dependencyChanges">;

  constructor(port: Pick<PackagePort, "cluster" | "images" | "dependencyChanges">) {
    this.#port = port;
  }

  /**
   * Resolves the dependencies of all installed packages, except of those that are being deleted. Asks a registry only
   * for the versions of a package that must be installed or updated.
   *
   * @throws {ApiError}
   */
  async resolve(installed: readonly LockedPackage[], signal: AbortSignal): Promise<ResolvedLock> {
    const packages = installed.map((one) => (this.#isLeaving(one) ? { ...one, dependencies: [] } : one));
    const known = { objects: this.#objects(), changes: this.#port.dependencyChanges };
    const tags = new Map<string, readonly string[]>();
    const failures = new Map<string, PackageInstallError>();
    let resolution = resolveDependencies(packages, tags, known);
    for (const source of resolution.unlisted) {
      try {
        tags.set(source, await this.#versionsOf(packages, source, signal));
      } catch (caught) {
        const error = asInstallError(caught);
        if (signal.aborted || error === undefined) throw caught;
        failures.set(source, error);
      }
    }
    if (tags.size > 0) resolution = resolveDependencies(packages, tags, known);
    const isTaken = ({ kind, name }: Installation): boolean => this.#package(kind, name) !== undefined;
    const { install, update, problems } = resolution;
    return {
      install: install.filter((one) => !isTaken(one)),
      update,
      problems: [...problems, ...install.filter(isTaken).map(nameTaken)],
      failures,
    };
  }

  /**
   * The dependencies of a revision. Asks registries only if the Lock has a problem with one of them.
   *
   * @param packages all installed packages
   * @param source the package of the revision
   * @throws {ApiError}
   */
  async statusOf(
    packages: readonly LockedPackage[],
    source: string,
    signal: AbortSignal,
  ): Promise<ResolvedDependencies> {
    const { problems, ...counts } = dependencyStatus(packages, source);
    if (problems.length === 0) return { ...counts, problems: [] };
    const lock = this.#port.cluster.informers.peek(LOCKS)?.get(LOCK_NAME);
    const resolution = lock && conditionOf(lock, "Resolved");
    const causes = textAt(resolution, "status") === "False" ? (textAt(resolution, "message") ?? "") : "";
    const isFailed = problems.some((problem) => causes.includes(problem.package));
    const resolved = isFailed ? await this.resolve(packages, signal) : undefined;
    const objects = this.#objects();
    const messageOf = (problem: DependencyError): string => {
      const { code, package: wanted } = problem;
      if (code === "Cycle") return problem.message;
      const object = objects.get(wanted);
      if (object !== undefined && !packages.some((one) => one.source === wanted && one.version === object.version))
        return pendingMessage(wanted, object, this.#package(object.kind, object.name));
      const cause = resolved?.failures.get(wanted) ?? resolved?.problems.find((one) => one.package === wanted);
      return (cause ?? problem).message;
    };
    return { ...counts, problems: problems.map(messageOf) };
  }

  /** Whether a package needs the source and is not being deleted, according to the server. */
  async isWanted(packages: readonly LockedPackage[], source: string, signal: AbortSignal): Promise<boolean> {
    for (const one of wantersOf(packages, source)) {
      const owner = this.#ownerOf(one);
      if (owner === undefined) return true;
      const found = await findLive(this.#port.cluster, referenceOf(PACKAGES[one.kind].kind, owner.name), signal);
      if (found?.metadata.uid === owner.uid && !isBeingDeleted(found)) return true;
    }
    return false;
  }

  /**
   * Asks with the pull secrets of each package that needs the source, until the registry answers.
   *
   * @throws {PackageInstallError} `Unavailable`
   */
  async #versionsOf(
    packages: readonly LockedPackage[],
    source: string,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const revisions = wantersOf(packages, source).flatMap((one) => this.#revision(one) ?? []);
    const secretsOf = (revision: LiveObject): string =>
      JSON.stringify(FUNCTION_REVISIONS.of(revision).spec.packagePullSecrets);
    const [first, ...others] = new Map(revisions.map((one) => [secretsOf(one), one])).values();
    // The entries of the Lock are of revisions in the cache.
    if (first === undefined) return [];
    try {
      return await this.#port.images.versionsOf(first, source, signal);
    } catch (error) {
      for (const other of others) {
        const tags = await this.#port.images.versionsOf(other, source, signal).catch(() => undefined);
        if (tags !== undefined) return tags;
      }
      throw error;
    }
  }

  /**
   * Whether the package of a revision is gone or being deleted, according to the cache. The garbage collector deletes
   * the revision later. A dependency that a user deletes in the meantime must not return.
   */
  #isLeaving(one: LockedPackage): boolean {
    const owner = this.#ownerOf(one);
    if (owner === undefined || this.#port.cluster.informers.peek(PACKAGES[one.kind].kind) === undefined) return false;
    const object = this.#package(one.kind, owner.name);
    return object?.metadata.uid !== owner.uid || isBeingDeleted(object);
  }

  #ownerOf(one: LockedPackage): ControllerReference | undefined {
    const revision = this.#revision(one);
    const owner = revision && controllerOf(revision);
    return owner?.kind === one.kind ? owner : undefined;
  }

  #revision({ kind, name }: LockedPackage): LiveObject | undefined {
    return this.#port.cluster.informers.peek(PACKAGES[kind].revisionKind)?.get(name);
  }

  #package(kind: PackageKind, name: string): LiveObject | undefined {
    return this.#port.cluster.informers.peek(PACKAGES[kind].kind)?.get(name);
  }

  /** The objects of packages, by source. */
  #objects(): ReadonlyMap<string, PackageObject> {
    const objects = new Map<string, PackageObject>();
    for (const { kind: watched, packageKind: kind } of Object.values(PACKAGES)) {
      for (const object of this.#port.cluster.informers.peek(watched)?.list() ?? []) {
        const reference = referenceIn(object);
        if (reference === undefined || objects.has(reference.location)) continue;
        const { location, tag, digest = "" } = reference;
        objects.set(location, { kind, name: object.metadata.name, version: tag ?? digest });
      }
    }
    return objects;
  }
}

function wantersOf(packages: readonly LockedPackage[], source: string): LockedPackage[] {
  return packages.filter(({ dependencies }) => dependencies.some((one) => one.package === source));
}

function referenceIn(object: LiveObject): ReturnType<typeof parseReference> | undefined {
  try {
    return parseReference(FUNCTIONS.of(object).spec.package ?? "");
  } catch {
    // The condition of that object reports it.
    return undefined;
  }
}

function nameTaken({ kind, name, package: image, source }: Installation): DependencyError {
  const remedy = `delete it, or install ${image} yourself with another name`;
  const problem = `cannot install ${image}: the ${kind} ${name} exists with another package`;
  return new DependencyError("Conflict", problem, { package: source, packages: [], remedy });
}

function pendingMessage(
  source: string,
  { kind, name, version }: PackageObject,
  object: LiveObject | undefined,
): string {
  const text = (type: string, field: string): string | undefined => textAt(object && conditionOf(object, type), field);
  const why = text(text("Installed", "status") === "False" ? "Installed" : "Healthy", "message");
  return `${source} is being installed at ${version} as the ${kind} ${name}${why === undefined ? "" : `: ${why}`}`;
}
