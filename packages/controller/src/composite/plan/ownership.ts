import { LABEL_CLAIM_NAME } from "@xfn/composition";
import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { CompositeError } from "../../objects/composite-error.ts";
import { controllerOf } from "../../objects/owner.ts";
import { describeReference, referenceTo } from "../../objects/references.ts";
import { applyTitle } from "./applicable.ts";

/**
 * Why an XR may not apply an entry to an existing object: another owner controls it. Undefined if it may.
 *
 * @param existing undefined if the object does not exist
 */
export function ownershipProblem(
  xr: LiveObject,
  entry: string,
  existing: LiveObject | undefined,
): CompositeError | undefined {
  if (existing === undefined) return undefined;
  const controller = controllerOf(existing);
  const claim = textAt(existing, "spec", "claimRef", "name") ?? textAt(existing, "spec", "requirementRef", "name");
  // A composed XR has neither reference. A PersistentVolume has a claimRef, but not the label.
  const isClaimed = claim !== undefined && existing.metadata.labels?.[LABEL_CLAIM_NAME] !== undefined;
  if (controller === undefined && isClaimed)
    return notControllable(entry, existing, `the claim or requirement ${claim}`);
  if (controller === undefined || controller.uid === xr.metadata.uid) return undefined;
  return notControllable(entry, existing, `${controller.kind} ${controller.name}`);
}

function notControllable(entry: string, existing: LiveObject, owner: string): CompositeError {
  const object = describeReference(referenceTo(existing));
  const message = `${applyTitle(entry)}: it belongs to ${owner}; give it another name (${object})`;
  return new CompositeError("NotControllable", message);
}
