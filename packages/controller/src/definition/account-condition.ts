import type { Definition } from "@xfn/composition/definition";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { compositeErrorCode } from "../objects/composite-error.ts";
import { type Condition, conditionOf } from "../objects/conditions.ts";

const TYPE = "ServiceAccountFound";

/**
 * The condition of a definition that names a service account; undefined if the definition never named one.
 *
 * @param found the account, or why it cannot be read
 */
export function accountCondition(
  object: LiveObject,
  account: Definition["spec"]["serviceAccountRef"],
  found: ApiError | LiveObject | undefined,
): Condition | undefined {
  if (account === undefined)
    return conditionOf(object, TYPE) && { type: TYPE, status: "True", reason: "NoServiceAccount" };
  const title = `the service account ${account.namespace}/${account.name}`;
  if (found instanceof ApiError) {
    const message = `cannot read ${title}: ${found.message}`;
    return { type: TYPE, status: "Unknown", reason: compositeErrorCode(found), message };
  }
  if (found !== undefined) return { type: TYPE, status: "True", reason: "ServiceAccountFound" };
  const message = `${title} does not exist, so nothing is composed; create it, or change serviceAccountRef`;
  return { type: TYPE, status: "False", reason: "ServiceAccountNotFound", message };
}
