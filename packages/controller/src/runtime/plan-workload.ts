import { type KubernetesObject, objectAt, textAt } from "@xfn/json";
import { type ApiError, isApiError, type LiveObject, type ObjectReference } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { isControlledBy } from "../objects/owner.ts";
import { describeReference, objectKey, referenceTo } from "../objects/references.ts";
import { PackageInstallError } from "../package/registry/install-error.ts";
import type { Action } from "../plan/action.ts";
import { type Plan, planInOrder } from "../plan/plan.ts";
import { hashOf } from "./hash.ts";
import { type Manifests, manifestsOf } from "./manifests.ts";
import type { SeenWorkload } from "./observe-workload.ts";
import type { Wanted, WorkloadSecrets } from "./workload-secrets.ts";

/**
 * The hash of the manifest that was applied last. The API server fills in defaults, so that an object cannot be
 * compared with its manifest.
 */
const ANNOTATION_APPLIED = "pkg.crossplane.io/applied";

/** The writes of a runtime's workload. */
export interface WorkloadPlan extends Plan {
  /** Why the plan is incomplete: another owner has the next object. */
  readonly refusal: PackageInstallError | undefined;
  /** The object whose pods serve. */
  readonly deployment: ObjectReference;
}

/**
 * Plans the objects that run a package: Secrets, ServiceAccount, Service and Deployment. The server trusts what the
 * client gets next, and pods need the account and the Service. Objects that the runtime no longer needs are deleted.
 */
export function planWorkload(seen: SeenWorkload, { secrets, certificates }: WorkloadSecrets): WorkloadPlan {
  const { runtime, workload, controlled } = seen;
  const manifests = manifestsOf(workload, certificates);
  const wanted = [...secrets, ...objectsOf(seen, manifests)];
  const deployment = referenceTo(manifests.deployment);
  const taken = wanted.findIndex(
    ({ existing, isSame }) => !isSame && existing !== undefined && !isControlledBy(existing, runtime),
  );
  const writable = taken === -1 ? wanted : wanted.slice(0, taken);
  const applies = writable.filter(({ isSame }) => !isSame).map(applied);
  if (taken !== -1)
    return { ...planInOrder("workload", applies), deployment, refusal: takenError(wanted[taken]?.manifest) };
  const names = new Set(wanted.map(({ manifest }) => objectKey(referenceTo(manifest))));
  const leftovers = controlled.filter((object) => !names.has(objectKey(referenceTo(object))));
  return { ...planInOrder("workload", [...applies, ...leftovers.map(removed)]), deployment, refusal: undefined };
}

/** The deletion of an object that a runtime no longer needs. */
export function removed(object: LiveObject): Action {
  return { ...writeOf(object, "its runtime no longer needs it"), do: "delete", seen: object, guard: "uid" };
}

/** The apply of an object, with an annotation by which {@link isApplied} recognises it. */
export function applied({ manifest, existing }: Pick<Wanted, "existing" | "manifest">): Action {
  const annotations = { ...objectAt(manifest, "metadata", "annotations"), [ANNOTATION_APPLIED]: hashOf(manifest) };
  return {
    ...writeOf(manifest, "its runtime needs it"),
    do: "apply",
    intent: { ...manifest, metadata: { ...manifest.metadata, annotations } },
    seen: existing,
    // An object of the same name that another writer creates now is not taken over.
    guard: "uid",
    force: existing !== undefined,
  };
}

function writeOf(object: KubernetesObject, why: string): Pick<Action, "as" | "manager" | "on" | "why"> {
  return { as: "own", manager: FIELD_MANAGERS.runtime, on: referenceTo(object), why };
}

/** Whether an object has what a manifest says. */
export function isApplied(object: LiveObject | undefined, manifest: KubernetesObject): boolean {
  return textAt(object, "metadata", "annotations", ANNOTATION_APPLIED) === hashOf(manifest);
}

/** The failure of a planned write, as the reason of a condition if the API server refuses the object. */
export function refusedWrite({ on, do: verb }: Action, error: ApiError): Error {
  if (verb !== "apply" || !isApiError(error, "Forbidden", "Invalid", "NotFound")) return error;
  const message = `the API server refuses the ${describeReference(on)}: ${error.message}; ${wayOut(error)}`;
  return new PackageInstallError("NoRuntime", message, { cause: error, retryable: true });
}

function wayOut(refusal: ApiError): string {
  if (refusal.code === "Invalid") return "correct the DeploymentRuntimeConfig";
  if (refusal.code === "NotFound") return "create the namespace";
  return "raise the quota of the namespace, or give the controller the rights of deploy/packages";
}

function takenError(manifest: KubernetesObject = {}): PackageInstallError {
  const message =
    `the ${describeReference(referenceTo(manifest))} exists and belongs to another object; delete it, or give the ` +
    "objects of this runtime another name in a DeploymentRuntimeConfig";
  return new PackageInstallError("NameTaken", message);
}

function objectsOf(seen: SeenWorkload, { serviceAccount, service, deployment }: Manifests): Wanted[] {
  const wanted = (manifest: KubernetesObject, existing: LiveObject | undefined): Wanted => ({
    manifest,
    existing,
    isSame: existing !== undefined && isApplied(existing, manifest),
  });
  const account = serviceAccount && wanted(serviceAccount, seen.account);
  return [...(account ? [account] : []), wanted(service, seen.service), wanted(deployment, seen.deployment)];
}
