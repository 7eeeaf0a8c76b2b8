import { ANNOTATION_RESOURCE_NAME, type Composition, callsFunctions } from "@xfn/composition";
import type { ObservedResource } from "@xfn/functionio";
import type { KubernetesObject } from "@xfn/json";
import { type LiveObject, namingProblem } from "@xfn/kubernetes";
import { connectionSecretOf, secretDetails } from "@xfn/pipeline";
import { SECRET_TYPE_CONNECTION } from "../../objects/connection-secrets.ts";
import { isSecret, referenceOf, SECRETS } from "../../objects/kinds.ts";
import { withoutManagedFields } from "../../objects/managed-fields.ts";
import { controllerOf } from "../../objects/owner.ts";
import { describeReference, referenceTo } from "../../objects/references.ts";
import type { ReconcileReader } from "../state/reconcile-reader.ts";
import type { ObservedComposed } from "./observe-composed.ts";

/** The observed entries of an XR, as its functions receive them. */
export interface ObservedEntries {
  readonly entries: ObservedResource[];
  /** Warnings about Secrets that are not read. */
  readonly notes: readonly string[];
}

/** Bounds of the composed resources that functions may see. */
export interface Visibility {
  /** The namespace of the XR; undefined if it is cluster-scoped. */
  readonly namespace: string | undefined;
  readonly allowComposedSecrets?: boolean | undefined;
}

/**
 * The observed entries as functions receive them, sorted by name, with the connection details from their Secrets.
 *
 * @throws {ApiError} if a Secret cannot be read
 */
export async function observedEntries(
  reader: ReconcileReader,
  composition: Composition,
  { entries }: ObservedComposed,
  visibility: Visibility,
): Promise<ObservedEntries> {
  const needsDetails = detailsFilter(composition);
  const observed: ObservedResource[] = [];
  const notes: string[] = [];
  for (const [name, object] of entries) {
    const secret = needsDetails(name) ? await readSecretOf(reader, object, visibility, notes) : undefined;
    const resource = asObserved(object, visibility);
    observed.push({ name, resource, ...(secret && { connectionDetails: secretDetails(secret) }) });
  }
  return { entries: observed.toSorted((a, b) => (a.name < b.name ? -1 : 1)), notes };
}

/**
 * A composed resource as templates and functions receive it. Without `--allow-composed-secrets`, a Secret has no
 * content: a patch could publish it. The annotation in which kubectl keeps the object is removed for the same reason.
 */
export function asObserved(
  object: LiveObject,
  { allowComposedSecrets = false }: Pick<Visibility, "allowComposedSecrets">,
): KubernetesObject {
  if (allowComposedSecrets || !isSecret(object)) return withoutManagedFields(object);
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid, labels, annotations } = metadata;
  const entry = annotations?.[ANNOTATION_RESOURCE_NAME];
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      uid,
      ...(namespace !== undefined && { namespace }),
      ...(labels !== undefined && { labels }),
      ...(entry !== undefined && { annotations: { [ANNOTATION_RESOURCE_NAME]: entry } }),
    },
  };
}

/**
 * The entries whose connection details the Composition uses: functions receive all, templates only those that they
 * name.
 */
function detailsFilter(composition: Composition): (entry: string) => boolean {
  if (callsFunctions(composition)) return () => true;
  const named = composition.spec.resources.filter(({ connectionDetails }) => (connectionDetails ?? []).length > 0);
  const names = new Set(named.map(({ name }) => name));
  return (entry) => names.has(entry);
}

/**
 * Reads the Secret in which a composed resource publishes its details. The resource's author chooses the name.
 * Therefore it reads only a Secret that the resource controls, or a connection secret without a controller. Otherwise
 * the author could read any Secret of the cluster.
 */
async function readSecretOf(
  reader: ReconcileReader,
  object: LiveObject,
  visibility: Visibility,
  notes: string[],
): Promise<LiveObject | undefined> {
  const path = connectionSecretOf(object)?.split("/");
  if (path === undefined) return undefined;
  const [namespace, name, ...more] = path;
  if (!namespace || !name) return undefined;
  const skip = (reason: string): undefined => {
    const title = `the connection secret ${path.join("/")} of ${describeReference(referenceTo(object))}`;
    notes.push(`${title} ${reason}; it is not read`);
  };
  const reference = referenceOf(SECRETS, name, namespace);
  if (more.length > 0 || namingProblem(reference) !== undefined) return skip("has an invalid name");
  if ((visibility.namespace ?? namespace) !== namespace) return skip("is in another namespace");
  const secret = await reader.readOnce(reference);
  const controller = secret && controllerOf(secret);
  if (controller !== undefined && controller.uid !== object.metadata.uid)
    return skip(`belongs to ${controller.kind} ${controller.name}`);
  const isDetails = controller !== undefined || secret?.["type"] === SECRET_TYPE_CONNECTION;
  if (secret === undefined || isDetails || visibility.allowComposedSecrets) return secret;
  return skip(`has no controller and is not of type ${SECRET_TYPE_CONNECTION}`);
}
