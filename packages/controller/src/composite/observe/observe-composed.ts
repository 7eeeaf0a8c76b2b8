import { ANNOTATION_RESOURCE_NAME, type Composition, callsFunctions, type Layout } from "@xfn/composition";
import type { ObservedResource } from "@xfn/functionio";
import type { KubernetesObject } from "@xfn/json";
import {
  ApiError,
  isApiError,
  type LiveObject,
  namingProblem,
  type ObjectReference,
  type ResourceKind,
} from "@xfn/kubernetes";
import { connectionSecretOf, secretDetails } from "@xfn/pipeline";
import { SECRET_TYPE_CONNECTION, secretReferenceOf } from "../../objects/connection-secrets.ts";
import { isSecret, referenceOf, SECRETS } from "../../objects/kinds.ts";
import { withoutManagedFields } from "../../objects/managed-fields.ts";
import { controllerOf } from "../../objects/owner.ts";
import { describeReference, recordedReferences, referenceTo } from "../../objects/references.ts";
import { readRecorded } from "./read-recorded.ts";
import type { ReconcileReader } from "./reconcile-reader.ts";

/** The composed resources that exist. */
export interface ObservedComposed {
  /** By entry name. Each object either has no controller, or the XR controls it. */
  readonly entries: ReadonlyMap<string, LiveObject>;
  /** The objects that the XR controls and whose entries are unknown. */
  readonly unnamed: readonly LiveObject[];
  /**
   * References that stay recorded even if they are no longer desired: those to existing objects without another
   * controller.
   */
  readonly references: readonly ObjectReference[];
  /** Warnings about recorded objects. */
  readonly notes: readonly string[];
}

/**
 * Reads the objects that an XR has recorded. Reads an object live if no cache has it. An existing entry must never
 * count as missing: a function might then give its object another name.
 *
 * Skips objects of other controllers, and drops the references to them. Observes objects without a controller, such as
 * after a restore from a backup, and never deletes them.
 *
 * @throws {ApiError} if a recorded object cannot be read
 */
export async function observeComposed(
  reader: ReconcileReader,
  xr: LiveObject,
  layout: Layout,
): Promise<ObservedComposed> {
  const entries = new Map<string, LiveObject>();
  const references: ObjectReference[] = [];
  const unnamed: LiveObject[] = [];
  const notes: string[] = [];
  for (const reference of recordedReferences(xr, layout)) {
    const object = await readReferenced(reader, xr, reference);
    if (object instanceof ApiError) {
      // Keep the reference: the CRD may return with its objects.
      notes.push(`${describeReference(reference)} is recorded, but ${object.message}`);
      references.push(reference);
      continue;
    }
    const controller = object && controllerOf(object)?.uid;
    if (object === undefined || (controller !== undefined && controller !== xr.metadata.uid)) continue;
    references.push(referenceTo(object));
    const entry = object.metadata.annotations?.[ANNOTATION_RESOURCE_NAME] ?? "";
    const problem = problemOf(entry, controller, entries);
    if (problem !== undefined) notes.push(`${describeReference(reference)} ${problem}`);
    if (entry === "" && controller !== undefined) unnamed.push(object);
    if (entry !== "" && !entries.has(entry)) entries.set(entry, object);
  }
  return { entries, references, unnamed, notes };
}

function problemOf(
  entry: string,
  controller: string | undefined,
  entries: ReadonlyMap<string, LiveObject>,
): string | undefined {
  if (entry === "")
    return `lacks the annotation ${ANNOTATION_RESOURCE_NAME}, so its entry is unknown; it is left alone`;
  const other = entries.get(entry);
  if (other !== undefined) {
    const first = describeReference(referenceTo(other));
    return `is for the entry ${JSON.stringify(entry)}, which ${first} already has; it is left alone`;
  }
  return controller === undefined ? "has lost its controller reference; it is not deleted" : undefined;
}

/** @returns the error if the kind is not served */
async function readReferenced(
  reader: ReconcileReader,
  xr: LiveObject,
  reference: ObjectReference,
): Promise<LiveObject | ApiError | undefined> {
  let kind: ResourceKind;
  try {
    kind = await reader.kindOf(reference.apiVersion, reference.kind);
  } catch (error) {
    if (!isApiError(error, "KindNotServed")) throw error;
    return error;
  }
  return readRecorded(reader, xr, kind, reference);
}

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

/** Reads the XR's connection secret; undefined if it has none. @throws {ApiError} if it cannot be read */
export async function readConnectionSecret(
  reader: ReconcileReader,
  xr: LiveObject,
  layout: Layout,
): Promise<LiveObject | undefined> {
  const secret = secretReferenceOf(xr, layout);
  return secret && (await reader.readOnce(referenceOf(SECRETS, secret.name, secret.namespace)));
}
