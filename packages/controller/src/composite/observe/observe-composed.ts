import { ANNOTATION_RESOURCE_NAME, LABEL_COMPOSITE, type Layout } from "@xfn/composition";
import { ApiError, isApiError, type LiveObject, type ObjectReference, type ResourceKind } from "@xfn/kubernetes";
import { controllerOf, isOfPredecessor } from "../../objects/owner.ts";
import { describeReference, recordedReferences, referenceTo } from "../../objects/references.ts";
import type { ReconcileReader } from "../state/reconcile-reader.ts";
import { readRecorded } from "./read-recorded.ts";
import { isRestored } from "./require-restored.ts";

/** The composed resources that exist. */
export interface ObservedComposed {
  /** By entry name. Each object either has no controller, or the XR controls it. */
  readonly entries: ReadonlyMap<string, LiveObject>;
  /** The objects that the XR controls, or that a backup has of it, and whose entries are unknown. */
  readonly unnamed: readonly LiveObject[];
  /**
   * References that stay recorded even if they are no longer desired: those to existing objects without another
   * controller.
   */
  readonly references: readonly ObjectReference[];
  /** The objects of the XR's predecessor, if a restore from a backup created the XR. They are also entries. */
  readonly former: readonly LiveObject[];
  /** The recorded objects that do not exist, or whose kind is not served. */
  readonly missing: readonly ObjectReference[];
  /** Warnings about recorded objects. */
  readonly notes: readonly string[];
}

/**
 * Reads the objects that an XR has recorded. Reads an object live if no cache has it. An existing entry must never
 * count as missing: a function might then give its object another name.
 *
 * Skips objects of other controllers, and drops the references to them. Observes objects without a controller, such as
 * after a restore from a backup, and never deletes them. The same applies to objects of a restored XR's predecessor.
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
  const restored = isRestored(xr, layout);
  const former: LiveObject[] = [];
  const missing: ObjectReference[] = [];
  const unnamed: LiveObject[] = [];
  const notes: string[] = [];
  for (const reference of recordedReferences(xr, layout)) {
    const object = await readReferenced(reader, xr, reference);
    if (object === undefined || object instanceof ApiError) missing.push(reference);
    if (object instanceof ApiError) {
      // Keep the reference: the CRD may return with its objects.
      notes.push(`${describeReference(reference)} is recorded, but ${object.message}`);
      references.push(reference);
      continue;
    }
    const controller = object && controllerOf(object)?.uid;
    if (object === undefined) continue;
    const isFormer = restored && isOfPredecessor(object, xr);
    if (controller !== undefined && controller !== xr.metadata.uid && !isFormer) continue;
    if (isFormer) former.push(object);
    references.push(referenceTo(object));
    const entry = object.metadata.annotations?.[ANNOTATION_RESOURCE_NAME] ?? "";
    const problem = problemOf(entry, controller, entries);
    if (problem !== undefined) notes.push(`${describeReference(reference)} ${problem}`);
    if (entry === "" && (controller !== undefined || (restored && isLabelled(object)))) unnamed.push(object);
    if (entry !== "" && !entries.has(entry)) entries.set(entry, object);
  }
  return { entries, references, former, missing, unnamed, notes };
}

/** Composed resources have the label also if they have lost their controller. */
function isLabelled({ metadata }: LiveObject): boolean {
  return metadata.labels?.[LABEL_COMPOSITE] !== undefined;
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
