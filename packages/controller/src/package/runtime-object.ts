import { createHash } from "node:crypto";
import { type JsonObject, type KubernetesObject, objectAt } from "@xfn/json";
import { isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { parseReference } from "@xfn/oci-rootfs";
import { revisionName } from "@xfn/package";
import { namesOf } from "../kinds/package-fields.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import {
  FUNCTION_REVISIONS,
  FUNCTION_RUNTIMES,
  PROVIDER_REVISIONS,
  PROVIDER_RUNTIMES,
  referenceOf,
  typeMeta,
} from "../objects/kinds.ts";
import { LABEL_SOURCE } from "../objects/labels.ts";
import { isBeingDeleted, ownerReferencesOf } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { execute, executeOrThrow } from "../plan/execute.ts";
import { firstFailure } from "../plan/outcome.ts";
import { type Plan, planInOrder } from "../plan/plan.ts";
import type { Cluster, PackagePort } from "./package-port.ts";
import type { ImageSettings } from "./registry/image-configs.ts";
import { PackageInstallError } from "./registry/install-error.ts";
import { digestIn } from "./registry/package-names.ts";

// FunctionRuntimes of Crossplane's design "Controlled Rollout of Composition Functions (v2)". Each version of a
// function has one runtime for all objects that need it. All of them own it, and none controls it.

/**
 * The name of the runtime of a package with a digest, shared by all controllers: the repository, and the start of a
 * hash over the registry and the digest. Two registries can have the same package with different credentials.
 *
 * @throws {ImageError} `InvalidReference`
 */
export function runtimeName(image: string): string {
  const { registry, repository, digest = "" } = parseReference(image);
  const hash = createHash("sha256").update(`${registry}/${digest}`).digest("hex");
  return revisionName(repository.replaceAll("_", "-"), hash);
}

/** The kind of runtime that an object needs: ProviderRevisions need ProviderRuntimes. */
function runtimeKind({ kind }: Pick<LiveObject, "kind">): ResourceKind {
  return kind === PROVIDER_REVISIONS.kind ? PROVIDER_RUNTIMES : FUNCTION_RUNTIMES;
}

/**
 * The cached runtime of a package; undefined if it does not exist or is not cached.
 *
 * @param owner an object that needs it
 */
export function knownRuntime(
  { informers }: Pick<Cluster, "informers">,
  image: string,
  owner: LiveObject,
): LiveObject | undefined {
  return informers.peek(runtimeKind(owner))?.get(runtimeName(image));
}

/** Whether an object is an owner of a runtime. A runtime without the label was created by a user, and has no owners. */
export function isOwnedRuntime(runtime: LiveObject, owner: LiveObject): boolean {
  if (runtime.metadata.labels?.[LABEL_SOURCE] === undefined) return true;
  return ownerReferencesOf(runtime).some(({ uid }) => uid === owner.metadata.uid);
}

/** Whether a runtime has the object as an owner, and has its pull secrets. */
export function isJoined(runtime: LiveObject, owner: LiveObject): boolean {
  return isOwnedRuntime(runtime, owner) && missingSecrets(runtime, owner).length === 0;
}

function secretsOf(runtime: LiveObject): string[] {
  return namesOf(FUNCTION_RUNTIMES.of(runtime).spec.pullSecrets);
}

/**
 * The pull secrets of an owner that the controller's runtime lacks. An owner may be new, or may get pull secrets later.
 */
function missingSecrets(runtime: LiveObject, owner: LiveObject): string[] {
  if (runtime.metadata.labels?.[LABEL_SOURCE] === undefined) return [];
  const known = secretsOf(runtime);
  return namesOf(FUNCTION_REVISIONS.of(owner).spec.packagePullSecrets).filter((name) => !known.includes(name));
}

/** The needs of {@link ensureRuntime}. */
type JoinPort = Pick<PackagePort, "images"> & { readonly cluster: Pick<Cluster, "client" | "informers"> };

/**
 * Creates the runtime of a package, or adds an object and its pull secrets to an existing one.
 *
 * @param image with a digest
 * @throws {PackageInstallError} `NameTaken` if another package has the name
 * @throws {ApiError} `Conflict` if the runtime has changed since it was read
 */
export async function ensureRuntime(
  { cluster, images }: JoinPort,
  image: string,
  owner: LiveObject,
  signal: AbortSignal,
): Promise<LiveObject> {
  const known = knownRuntime(cluster, image, owner);
  if (known !== undefined && isOf(known, image) && isJoined(known, owner)) return known;
  const kind = runtimeKind(owner);
  const reference = referenceOf(kind, runtimeName(image));
  let existing = await findLive(cluster, reference, signal);
  if (existing === undefined) {
    await images.whenListed(signal);
    const plan = planCreation(runtimeOf(images.settings(image), image, owner), owner);
    const outcome = await execute(plan, { actors: { own: cluster }, signal });
    const error = firstFailure(outcome)?.error;
    if (error !== undefined && !isApiError(error, "AlreadyExists")) throw error;
    existing = outcome.latest(reference) ?? (await findLive(cluster, reference, signal));
  }
  if (existing === undefined || isBeingDeleted(existing)) {
    const message = `the ${kind.kind} ${reference.name} is being deleted`;
    throw new PackageInstallError("NoRuntime", message, { retryable: true });
  }
  if (!isOf(existing, image)) {
    const message = `the ${kind.kind} ${reference.name} exists for another package; delete that object`;
    throw new PackageInstallError("NameTaken", message);
  }
  const { latest } = await executeOrThrow(planJoin(existing, owner), { actors: { own: cluster }, signal });
  return latest(reference) ?? existing;
}

/** Removes an object from the owners of a runtime. The garbage collector deletes a runtime without owners. */
export async function disownRuntime(
  cluster: Pick<Cluster, "client">,
  image: string,
  owner: LiveObject,
  signal: AbortSignal,
): Promise<void> {
  const runtime = await findLive(cluster, referenceOf(runtimeKind(owner), runtimeName(image)), signal);
  if (runtime !== undefined) await executeOrThrow(planLeave(runtime, owner), { actors: { own: cluster }, signal });
}

/** The runtime may be missing because the garbage collector deleted it after its owner. */
function planCreation(object: KubernetesObject, owner: LiveObject): Plan {
  const why = "its first owner needs it";
  return planInOrder("runtime", [
    { ...writeOf(owner, why), do: "confirm", seen: owner },
    { ...writeOf(object, why), do: "create", object },
  ]);
}

function planJoin(runtime: LiveObject, owner: LiveObject): Plan {
  if (isJoined(runtime, owner)) return { stages: [] };
  const known = ownerReferencesOf(runtime);
  const owners = isOwnedRuntime(runtime, owner) ? known : [...known, ownerReferenceTo(owner)];
  const pullSecrets = [...secretsOf(runtime), ...missingSecrets(runtime, owner)].map((name) => ({ name }));
  const body = {
    metadata: { ownerReferences: owners },
    ...(pullSecrets.length > 0 && { spec: { pullSecrets } }),
  };
  const write = { ...writeOf(runtime, "another object needs it"), do: "patch", body, seen: runtime } as const;
  return planInOrder("runtime", [{ ...write, guard: "version" }]);
}

/** Plans the end of an object's use of a runtime. */
export function planLeave(runtime: LiveObject, owner: LiveObject): Plan {
  const owners = ownerReferencesOf(runtime);
  const others = owners.filter(({ uid }) => uid !== owner.metadata.uid);
  if (runtime.metadata.labels?.[LABEL_SOURCE] === undefined || others.length === owners.length) return { stages: [] };
  const common = { ...writeOf(runtime, "an owner no longer needs it"), seen: runtime, guard: "version" } as const;
  const write: Action =
    others.length > 0
      ? { ...common, do: "patch", body: { metadata: { ownerReferences: others } } }
      : // The garbage collector deletes only objects whose owners are gone, not objects that never had an owner.
        { ...common, do: "delete" };
  return planInOrder("runtime", [write]);
}

function writeOf(object: KubernetesObject, why: string): Pick<Action, "as" | "manager" | "on" | "why"> {
  return { as: "own", manager: FIELD_MANAGERS.packageRevision, on: referenceTo(object), why };
}

function isOf(runtime: LiveObject, image: string): boolean {
  const { spec, status } = FUNCTION_RUNTIMES.of(runtime);
  const found = status.resolvedPackage ?? spec.package ?? "";
  try {
    return digestIn(found) === digestIn(image);
  } catch {
    // A user created the object with an invalid reference.
    return false;
  }
}

function runtimeOf({ runtime }: ImageSettings, image: string, owner: LiveObject): JsonObject {
  const { location, digest = "" } = parseReference(image);
  const { packagePullSecrets: secrets, packagePullPolicy: pullPolicy, ...spec } = objectAt(owner, "spec");
  // As in Crossplane, an ImageConfig wins.
  const runtimeConfigRef = runtime?.configRef ?? spec["runtimeConfigRef"];
  return {
    ...typeMeta(runtimeKind(owner)),
    metadata: {
      name: runtimeName(image),
      labels: { [LABEL_SOURCE]: digest.slice(digest.indexOf(":") + 1).slice(0, 63) },
      ownerReferences: [ownerReferenceTo(owner)],
    },
    spec: {
      package: `${location}@${digest}`,
      ...(secrets !== undefined && { pullSecrets: secrets }),
      ...(pullPolicy !== undefined && { pullPolicy }),
      ...(runtimeConfigRef !== undefined && { runtimeConfigRef }),
    },
  };
}

function ownerReferenceTo({ apiVersion, kind, metadata: { name, uid } }: LiveObject): JsonObject {
  return { apiVersion, kind, name, uid };
}
