import type { KubernetesObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { isDerivedName } from "@xfn/pipeline";
import { referenceTo } from "../../objects/references.ts";
import type { ReconcileReader } from "../state/reconcile-reader.ts";

/** A composed resource whose object is looked up. */
interface Sought {
  readonly entry: string;
  readonly intent: KubernetesObject;
  readonly observed: LiveObject | undefined;
}

/**
 * Finds the objects that have the names of composed resources, or the errors of reading them, by entry. A new resource
 * whose author chose the name is read live, so that another controller's object is not overwritten. A name that the
 * controller made from the XR's UID and the entry belongs to no other object.
 *
 * @param uid the XR's
 * @throws {unknown} an error that is not an answer of the server, such as an abort
 */
export async function locate(
  reader: ReconcileReader,
  uid: string,
  resources: Iterable<Sought>,
): Promise<ReadonlyMap<string, LiveObject | ApiError>> {
  const located = new Map<string, LiveObject | ApiError>();
  for (const { entry, intent, observed } of resources) {
    const isNew = observed === undefined && !isDerivedName(intent.metadata?.name ?? "", uid, entry);
    const found = isNew ? await readChosen(reader, intent) : observed;
    if (found !== undefined) located.set(entry, found);
  }
  return located;
}

async function readChosen(
  reader: ReconcileReader,
  intent: KubernetesObject,
): Promise<LiveObject | ApiError | undefined> {
  try {
    return await reader.readLive(referenceTo(intent));
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}
