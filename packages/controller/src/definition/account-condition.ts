import type { Definition } from "@xfn/composition/definition";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { compositeErrorCode } from "../objects/composite-error.ts";
import { type Condition, conditionOf } from "../objects/conditions.ts";
import { referenceOf, SERVICE_ACCOUNTS } from "../objects/kinds.ts";
import { findLive } from "../objects/read-objects.ts";
import type { DefinitionPort } from "./definition-port.ts";

const TYPE = "ServiceAccountFound";

/** The condition of a definition that names a service account; undefined if the definition never named one. */
export async function accountCondition(
  { client }: Pick<DefinitionPort, "client">,
  object: LiveObject,
  { spec }: Definition,
  signal: AbortSignal,
): Promise<Condition | undefined> {
  const { serviceAccountRef: account } = spec;
  if (account === undefined)
    return conditionOf(object, TYPE) && { type: TYPE, status: "True", reason: "NoServiceAccount" };
  const title = `the service account ${account.namespace}/${account.name}`;
  try {
    const found = await findLive({ client }, referenceOf(SERVICE_ACCOUNTS, account.name, account.namespace), signal);
    if (found !== undefined) return { type: TYPE, status: "True", reason: "ServiceAccountFound" };
    const message = `${title} does not exist, so nothing is composed; create it, or change serviceAccountRef`;
    return { type: TYPE, status: "False", reason: "ServiceAccountNotFound", message };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return {
      type: TYPE,
      status: "Unknown",
      reason: compositeErrorCode(error),
      message: `cannot read ${title}: ${error.message}`,
    };
  }
}
