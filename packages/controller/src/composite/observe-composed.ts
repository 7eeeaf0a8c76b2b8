import { ANNOTATION_RESOURCE_NAME, type Composition } from "@xfn/composition";
import type { KubernetesObject, ObservedResource } from "@xfn/functionio";
import { isApiError, type LiveObject, namingProblem, type ObjectReference, type ResourceKind } from "@xfn/kubernetes";
import { connectionSecretOf, secretDetails } from "@xfn/pipeline";
import { controllerOf } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { describeReference, recordedReferences, referenceTo } from "../objects/references.ts";
import { readRecorded } from "./read-recorded.ts";
import { tell, type Work } from "./reconcile-context.ts";

/** What exists of an XR. */
export interface ObservedComposed {
  /** By entry name. Each is controlled by the XR, or by nobody. */
  readonly entries: ReadonlyMap<string, LiveObject>;
  /** References that stay recorded whatever is desired: to all that exists and is not another's. */
  readonly references: readonly ObjectReference[];
}

/**
 * Reads what an XR has recorded. What a cache lacks is read live: an entry that exists is never taken for one that does not,
 * since its object may have a name that a function would now give differently.
 *
 * What another controls is not the XR's, whoever wrote the reference; it is passed over, and the reference goes. What nobody
 * controls, as after a restore from a backup, is observed and never deleted.
 *
 * @throws {ApiError} if something recorded cannot be read
 */
export async function observeComposed(work: Work): Promise<ObservedComposed> {
  const entries = new Map<string, LiveObject>();
  const references: ObjectReference[] = [];
  for (const reference of recordedReferences(work.xr)) {
    const object = await readReferenced(work, reference);
    if (object === "unknown") {
      references.push(reference);
      continue;
    }
    const controller = object && controllerOf(object)?.uid;
    if (object === undefined || (controller !== undefined && controller !== work.xr.metadata.uid)) continue;
    references.push(referenceTo(object));
    const entry = object.metadata.annotations?.[ANNOTATION_RESOURCE_NAME] ?? "";
    const problem = problemOf(entry, controller, entries);
    if (problem !== undefined) tell(work, "Warning", "ComposeResources", `${describeReference(reference)} ${problem}`);
    if (entry !== "" && !entries.has(entry)) entries.set(entry, object);
  }
  return { entries, references };
}

function problemOf(
  entry: string,
  controller: string | undefined,
  entries: ReadonlyMap<string, LiveObject>,
): string | undefined {
  if (entry === "")
    return `has no annotation ${ANNOTATION_RESOURCE_NAME}, so nobody knows what it is for; it is left alone`;
  const other = entries.get(entry);
  if (other !== undefined) {
    return `is for the entry ${JSON.stringify(entry)} as ${describeReference(referenceTo(other))} is; it is left alone`;
  }
  return controller === undefined ? "has lost its controller reference; it is not deleted" : undefined;
}

async function readReferenced(work: Work, reference: ObjectReference): Promise<LiveObject | "unknown" | undefined> {
  let kind: ResourceKind;
  try {
    kind = await work.context.client.kind(reference.apiVersion, reference.kind, { signal: work.signal });
  } catch (error) {
    if (!isApiError(error, "KindNotServed")) throw error;
    // Its CRD may come back, with what was there.
    tell(work, "Warning", "ComposeResources", `${describeReference(reference)} is recorded, but ${error.message}`);
    return "unknown";
  }
  return readRecorded(work, kind, reference);
}

/**
 * What exists, as functions see it, with the connection details that it has published in Secrets of its own. Who applied which
 * field is left out: it is nobody's business but the server's, and longer than the object.
 *
 * @throws {ApiError} if a Secret cannot be read
 */
export async function observedEntries(
  work: Work,
  composition: Composition,
  { entries }: ObservedComposed,
): Promise<ObservedResource[]> {
  const wanted = wantedDetails(composition);
  const observed: ObservedResource[] = [];
  for (const [name, object] of entries) {
    const secret = wanted(name) ? await secretOf(work, object) : undefined;
    const resource = withoutManagedFields(object);
    observed.push({ name, resource, ...(secret && { connectionDetails: secretDetails(secret) }) });
  }
  return observed.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** An object as functions see it. */
export function withoutManagedFields(object: LiveObject): KubernetesObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Functions are shown all there is; of templates each has its own say. */
function wantedDetails({ spec }: Composition): (entry: string) => boolean {
  if (spec.functions.length > 0) return () => true;
  const named = spec.resources.filter(({ connectionDetails }) => (connectionDetails ?? []).length > 0);
  const names = new Set(named.map(({ name }) => name));
  return (entry) => names.has(entry);
}

/**
 * The Secret that a composed resource publishes its details in. Whoever may write the resource names it: one that another controls
 * is not read, or any Secret of the cluster could be had so.
 */
async function secretOf(work: Work, object: LiveObject): Promise<LiveObject | undefined> {
  const place = connectionSecretOf(object)?.split("/");
  if (place === undefined) return undefined;
  const [namespace, name, ...more] = place;
  if (!namespace || !name) return undefined;
  const passOver = (why: string): undefined => {
    const title = `the connection secret ${place.join("/")} of ${describeReference(referenceTo(object))}`;
    tell(work, "Warning", "ComposeResources", `${title} ${why}; it is not read`);
  };
  const reference = { apiVersion: "v1", kind: "Secret", namespace, name };
  if (more.length > 0 || namingProblem(reference) !== undefined) return passOver("has a name that no Secret can have");
  const secret = await findLive(work.context, reference, work.signal);
  const controller = secret && controllerOf(secret);
  if (controller === undefined || controller.uid === object.metadata.uid) return secret;
  return passOver(`belongs to ${controller.kind} ${controller.name}`);
}
