import { textAt } from "@xfn/json";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { parseReference } from "@xfn/oci-rootfs";
import {
  type DependencyStatus,
  dependencyStatus,
  type Installation,
  type LockedPackage,
  resolveDependencies,
} from "@xfn/package";
import { conditionOf } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FUNCTIONS, referenceOf, typeMeta } from "../objects/kinds.ts";
import { controllerOf, isBeingDeleted } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import type { Action } from "../plan/action.ts";
import { planInOrder } from "../plan/plan.ts";
import { carryOut } from "./carry-out.ts";
import { PACKAGES } from "./package-kinds.ts";
import type { PackagePort } from "./package-port.ts";

/** The dependencies of a revision, and the problems of their installation. */
export interface ResolvedDependencies extends Pick<DependencyStatus, "found" | "installed" | "invalid"> {
  /** Empty if all dependencies are installed in versions that the package accepts. */
  readonly problems: readonly string[];
}

/** Installs the dependencies of packages. */
export class DependencyResolver {
  readonly #port: Pick<PackagePort, "cluster" | "images">;

  constructor(port: Pick<PackagePort, "cluster" | "images">) {
    this.#port = port;
  }

  /**
   * Creates the packages of missing dependencies, in the newest version that all dependents accept. Never changes
   * installed packages.
   *
   * @param packages all installed packages
   * @param source the package of the revision
   * @throws {PackageInstallError} `Unavailable` if a registry cannot list versions
   * @throws {ApiError}
   */
  async resolve(
    revision: LiveObject,
    packages: readonly LockedPackage[],
    source: string,
    signal: AbortSignal,
  ): Promise<ResolvedDependencies> {
    const status = dependencyStatus(packages, source);
    const { found, installed, invalid } = status;
    if (status.problems.length === 0) return { found, installed, invalid, problems: [] };
    const isOwn = (sources: readonly string[]): boolean => sources.includes(source);
    const missing = new Set(status.problems.flatMap((one) => (one.code === "Missing" ? [one.package] : [])));
    const problems = status.problems.filter(({ package: one }) => !missing.has(one)).map(({ message }) => message);
    // Dependencies that another package needs are installed by the reconcile of its revision.
    const own = [...missing].filter((one) => isOwn(wantersOf(packages, one)));
    const present = new Map(own.map((one) => [one, this.#pendingPackage(one)]));
    const tags = new Map<string, readonly string[]>();
    let resolution = resolveDependencies(packages, tags);
    const unlisted = resolution.unlisted.filter((one) => own.includes(one) && present.get(one) === undefined);
    for (const one of unlisted) tags.set(one, await this.#port.images.versionsOf(revision, one, signal));
    if (unlisted.length > 0) resolution = resolveDependencies(packages, tags);
    for (const one of missing) {
      const pending = present.get(one) ?? this.#pendingPackage(one);
      const install = resolution.install.find((found) => found.source === one);
      const problem = resolution.problems.find((found) => found.package === one);
      if (pending !== undefined) problems.push(pendingMessage(one, pending));
      else if (own.includes(one) && install !== undefined)
        problems.push(await this.#install(revision, install, signal));
      else problems.push(problem?.message ?? `${one} is being installed`);
    }
    return { found, installed, invalid, problems };
  }

  /** The object of a package that is not in the Lock yet. */
  #pendingPackage(source: string): LiveObject | undefined {
    for (const { kind } of Object.values(PACKAGES)) {
      const found = this.#port.cluster.informers
        .peek(kind)
        ?.list()
        .find((one) => sourceOf(one) === source);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * Whether the package of a revision is gone or being deleted. The garbage collector deletes the revision later. A
   * dependency that a user deletes in the meantime must not return.
   */
  async #isLeaving(revision: LiveObject, signal: AbortSignal): Promise<boolean> {
    const owner = controllerOf(revision);
    const kinds = Object.values(PACKAGES).find(({ kind }) => kind.kind === owner?.kind);
    if (owner === undefined || kinds === undefined) return false;
    const found = await findLive(this.#port.cluster, referenceOf(kinds.kind, owner.name), signal);
    return found?.metadata.uid !== owner.uid || isBeingDeleted(found);
  }

  /** @returns the state of the dependency */
  async #install(
    revision: LiveObject,
    { kind, name, package: image }: Installation,
    signal: AbortSignal,
  ): Promise<string> {
    if (await this.#isLeaving(revision, signal))
      return `${image} is not installed, because the package of ${revision.metadata.name} is being deleted`;
    const why = `created the ${kind} ${name} for the dependency ${image}`;
    const object = { ...typeMeta(PACKAGES[kind].kind), metadata: { name }, spec: { package: image } };
    const on = referenceOf(PACKAGES[kind].kind, name);
    const action: Action = { as: "own", manager: FIELD_MANAGERS.package, on, why, do: "create", object };
    const notes = new Map([[action, [{ type: "Normal", reason: "ResolveDependencies", message: why } as const]]]);
    try {
      await carryOut(this.#port.cluster, revision, { ...planInOrder("dependency", [action]), notes }, signal);
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
      const reason = `the ${kind} ${name} exists with another package`;
      return `cannot install ${image}: ${reason}; delete it, or install ${image} yourself with another name`;
    }
    return `${image} is being installed as the ${kind} ${name}`;
  }
}

function wantersOf(packages: readonly LockedPackage[], source: string): string[] {
  return packages
    .filter(({ dependencies }) => dependencies.some((one) => one.package === source))
    .map((one) => one.source);
}

function sourceOf(object: LiveObject): string | undefined {
  try {
    return parseReference(FUNCTIONS.of(object).spec.package ?? "").location;
  } catch {
    // The condition of that object reports it.
    return undefined;
  }
}

function pendingMessage(source: string, object: LiveObject): string {
  const { kind, metadata } = object;
  const why =
    textAt(conditionOf(object, "Installed"), "status") === "False"
      ? textAt(conditionOf(object, "Installed"), "message")
      : textAt(conditionOf(object, "Healthy"), "message");
  return `${source} is being installed as the ${kind} ${metadata.name}${why === undefined ? "" : `: ${why}`}`;
}
