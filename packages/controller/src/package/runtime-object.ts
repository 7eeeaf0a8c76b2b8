import { createHash } from "node:crypto";
import { type JsonObject, objectAt } from "@xfn/json";
import { isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { parseReference } from "@xfn/oci-rootfs";
import { revisionName } from "@xfn/package";
import { namesOf } from "../kinds/package-fields.ts";
import type { Context } from "../objects/context.ts";
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
import { imageSettings, whenConfigsListed } from "./registry/image-configs.ts";
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
export function knownRuntime({ informers }: Context, image: string, owner: LiveObject): LiveObject | undefined {
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

/**
 * Creates the runtime of a package, or adds an object and its pull secrets to an existing one.
 *
 * @param image with a digest
 * @throws {PackageInstallError} `NameTaken` if another package has the name
 * @throws {ApiError} `Conflict` if the runtime has changed since it was read
 */
export async function ensureRuntime(
  context: Context,
  image: string,
  owner: LiveObject,
  signal: AbortSignal,
): Promise<LiveObject> {
  const { client } = context;
  const known = knownRuntime(context, image, owner);
  if (known !== undefined && isOf(known, image) && isJoined(known, owner)) return known;
  const options = { fieldManager: FIELD_MANAGERS.packageRevision, signal };
  const kind = runtimeKind(owner);
  const reference = referenceOf(kind, runtimeName(image));
  let existing = await findLive(context, reference, signal);
  if (existing === undefined) {
    try {
      await whenConfigsListed(context, signal);
      return await client.create(runtimeOf(context, image, owner), options);
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
      existing = await findLive(context, reference, signal);
    }
  }
  if (existing === undefined || isBeingDeleted(existing)) {
    const message = `the ${kind.kind} ${reference.name} is being deleted`;
    throw new PackageInstallError("NoRuntime", message, { retryable: true });
  }
  if (!isOf(existing, image)) {
    const message = `the ${kind.kind} ${reference.name} exists for another package; delete that object`;
    throw new PackageInstallError("NameTaken", message);
  }
  if (isJoined(existing, owner)) return existing;
  const isOwned = isOwnedRuntime(existing, owner);
  const owners = isOwned ? ownerReferencesOf(existing) : [...ownerReferencesOf(existing), ownerReferenceTo(owner)];
  return setOwners(context, existing, owners, signal, [...secretsOf(existing), ...missingSecrets(existing, owner)]);
}

/** Removes an object from the owners of a runtime. The garbage collector deletes a runtime without owners. */
export async function disownRuntime(
  context: Context,
  image: string,
  owner: LiveObject,
  signal: AbortSignal,
): Promise<void> {
  const runtime = await findLive(context, referenceOf(runtimeKind(owner), runtimeName(image)), signal);
  if (runtime === undefined || runtime.metadata.labels?.[LABEL_SOURCE] === undefined) return;
  const owners = ownerReferencesOf(runtime);
  const others = owners.filter(({ uid }) => uid !== owner.metadata.uid);
  if (others.length === owners.length) return;
  if (others.length > 0) {
    await setOwners(context, runtime, others, signal);
    return;
  }
  // The garbage collector deletes only objects whose owners are gone, not objects that never had an owner.
  const { uid, resourceVersion } = runtime.metadata;
  const reference = referenceTo(runtime);
  await context.client
    .delete(reference, { preconditions: { uid, resourceVersion }, signal })
    .catch((error: unknown) => {
      if (!isApiError(error, "NotFound")) throw error;
    });
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

function runtimeOf(context: Context, image: string, owner: LiveObject): JsonObject {
  const { location, digest = "" } = parseReference(image);
  const { packagePullSecrets: secrets, packagePullPolicy: pullPolicy, ...spec } = objectAt(owner, "spec");
  // As in Crossplane, an ImageConfig wins.
  const runtimeConfigRef = imageSettings(context, image).runtime?.configRef ?? spec["runtimeConfigRef"];
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

async function setOwners(
  { client }: Context,
  runtime: LiveObject,
  ownerReferences: readonly JsonObject[],
  signal: AbortSignal,
  secrets: readonly string[] = [],
): Promise<LiveObject> {
  const { resourceVersion } = runtime.metadata;
  const pullSecrets = secrets.map((one) => ({ name: one }));
  const body = {
    metadata: { resourceVersion, ownerReferences: [...ownerReferences] },
    ...(pullSecrets.length > 0 && { spec: { pullSecrets } }),
  };
  const options = { fieldManager: FIELD_MANAGERS.packageRevision, signal };
  return client.patch(referenceTo(runtime), "merge", body, options);
}
