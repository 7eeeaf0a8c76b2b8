import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { namesOf } from "../kinds/package-fields.ts";
import { CompositeError } from "../objects/composite-error.ts";
import { conditionOf } from "../objects/conditions.ts";
import { FUNCTION_REVISIONS, FUNCTIONS } from "../objects/kinds.ts";
import { LABEL_PACKAGE, labelValue } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { findCached, listByLabels, type Reader } from "../objects/read-objects.ts";
import { isActive, isHealthy, numberOf, problemOf } from "../package/package-conditions.ts";

/** The package that serves a Function. */
export interface ActivePackage {
  /** The image with its digest. */
  readonly image: string;
  /** The names of its `packagePullSecrets`, in the controller's namespace. */
  readonly pullSecrets: readonly string[];
}

/**
 * The package of a Function, with its digest, from the newest active and healthy revision. During an upgrade, the older
 * revision serves until the newer one is healthy.
 *
 * @throws {CompositeError} `FunctionNotFound` or `FunctionNotReady`
 * @throws {ApiError}
 */
export async function activePackage(reader: Reader, name: string): Promise<ActivePackage> {
  const object = await findCached(reader, FUNCTIONS, name);
  if (object === undefined) {
    const message = `there is no Function ${name}; create it, or start the controller with --function ${name}=PACKAGE`;
    throw new CompositeError("FunctionNotFound", message);
  }
  const labelled = await listByLabels(reader, FUNCTION_REVISIONS, { [LABEL_PACKAGE]: labelValue(name) });
  const active = labelled
    .filter((revision) => controllerOf(revision)?.uid === object.metadata.uid && isActive(revision))
    .toSorted((a, b) => numberOf(b) - numberOf(a));
  const healthy = active.find(isHealthy);
  const { image, packagePullSecrets } = FUNCTION_REVISIONS.of(healthy).spec;
  if (image !== undefined) return { image, pullSecrets: namesOf(packagePullSecrets) };
  throw new CompositeError("FunctionNotReady", `the Function ${name} is not ready: ${reasonOf(object, active[0])}`);
}

function reasonOf(object: LiveObject, newest: LiveObject | undefined): string {
  if (newest !== undefined) {
    return problemOf(newest) ?? `its revision ${newest.metadata.name} is being installed`;
  }
  const installed = conditionOf(object, "Installed");
  if (installed?.["status"] !== "False") return "it is being installed";
  return textAt(installed, "message") ?? "it has no active revision";
}
