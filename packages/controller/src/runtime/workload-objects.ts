import { createHash } from "node:crypto";
import { type KubernetesObject, objectAt, textAt } from "@xfn/json";
import { type ApiError, isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { DEPLOYMENTS, referenceOf, SECRETS, SERVICE_ACCOUNTS, SERVICES } from "../objects/kinds.ts";
import { LABEL_RUNTIME, labelValue } from "../objects/labels.ts";
import { isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { PackageInstallError } from "../package/registry/install-error.ts";

/** The kinds of the objects that run a package. */
const WORKLOAD_KINDS: readonly ResourceKind[] = [DEPLOYMENTS, SERVICES, SERVICE_ACCOUNTS, SECRETS];

/**
 * The hash of the manifest that was applied last. The API server fills in defaults, so that an object cannot be
 * compared with its manifest.
 */
const ANNOTATION_APPLIED = "pkg.crossplane.io/applied";

/** Reads an object of the workload's namespace. */
export type ReadWorkload = (kind: ResourceKind, name: string) => Promise<LiveObject | undefined>;

/** Whether an object has what a manifest says. */
export function isApplied(object: LiveObject | undefined, manifest: KubernetesObject): boolean {
  return textAt(object, "metadata", "annotations", ANNOTATION_APPLIED) === hashOf(manifest);
}

/** A manifest with an annotation by which {@link isApplied} recognises it. @param existing the object as it was read */
export function annotated(manifest: KubernetesObject, existing: LiveObject | undefined): KubernetesObject {
  const annotations = { ...objectAt(manifest, "metadata", "annotations"), [ANNOTATION_APPLIED]: hashOf(manifest) };
  // With the UID, an object of the same name that another writer creates now is not taken over.
  const uid = existing && { uid: existing.metadata.uid };
  return { ...manifest, metadata: { ...manifest.metadata, ...uid, annotations } };
}

/** A short hash of a value. */
export function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 32);
}

/**
 * Applies an object that a runtime controls.
 *
 * @param existing the object as it was read
 * @throws {PackageInstallError} `NameTaken` if another owner has the object, `NoRuntime` if the API server refuses it
 */
export async function applyWorkload(
  { client }: Context,
  runtime: LiveObject,
  manifest: KubernetesObject,
  existing: LiveObject | undefined,
  signal: AbortSignal,
): Promise<LiveObject> {
  const title = `${manifest.kind ?? ""} ${manifest.metadata?.namespace ?? ""}/${manifest.metadata?.name ?? ""}`;
  if (existing !== undefined && !isControlledBy(existing, runtime)) {
    const message =
      `the ${title} exists and belongs to another object; delete it, or give the objects of this runtime another ` +
      "name in a DeploymentRuntimeConfig";
    throw new PackageInstallError("NameTaken", message);
  }
  try {
    return await client.apply(annotated(manifest, existing), {
      fieldManager: FIELD_MANAGERS.runtime,
      force: existing !== undefined,
      signal,
    });
  } catch (cause) {
    if (!isApiError(cause, "Forbidden", "Invalid", "NotFound")) throw cause;
    const message = `the API server refuses the ${title}: ${cause.message}; ${wayOut(cause)}`;
    throw new PackageInstallError("NoRuntime", message, { cause, retryable: true });
  }
}

function wayOut(refusal: ApiError): string {
  if (refusal.code === "Invalid") return "correct the DeploymentRuntimeConfig";
  if (refusal.code === "NotFound") return "create the namespace";
  return "raise the quota of the namespace, or give the controller the rights of deploy/packages";
}

/**
 * Deletes the objects of a runtime except those that it still needs.
 *
 * @param wanted `Kind/name` of each
 */
export async function deleteWorkload(
  { client, namespace }: Context,
  runtime: LiveObject,
  wanted: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  const labelSelector = `${LABEL_RUNTIME}=${labelValue(runtime.metadata.name)}`;
  for (const kind of WORKLOAD_KINDS) {
    const { items } = await client.list(kind, { namespace, labelSelector, signal });
    for (const object of items) {
      const { name, uid } = object.metadata;
      if (wanted.has(`${kind.kind}/${name}`) || !isControlledBy(object, runtime)) continue;
      await client
        .delete(referenceOf(kind, name, namespace), { preconditions: { uid }, signal })
        .catch((error: unknown) => {
          if (!isApiError(error, "NotFound")) throw error;
        });
    }
  }
}

/** Reads the objects of a workload from the API server. */
export function liveWorkload(context: Context, signal: AbortSignal): ReadWorkload {
  return (kind, name) => findLive(context, referenceOf(kind, name, context.namespace), signal);
}
