import { type Client, isApiError } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { ACTIVATION_POLICIES, CRDS, referenceOf, typeMeta } from "../objects/kinds.ts";
import { findLive } from "../objects/read-objects.ts";
import type { Action } from "../plan/action.ts";
import { execute, executeOrThrow } from "../plan/execute.ts";
import { firstFailure } from "../plan/outcome.ts";
import { planInOrder } from "../plan/plan.ts";

const NAME = "default";
/** On the CRD of activation policies: the default policy was created, and is the user's from then on. */
const ANNOTATION_CREATED = "apiextensions.crossplane.io/default-policy";

/**
 * Creates the activation policy of a new installation, once: activation is final, so a user who deletes the policy must
 * not get it back at the next start.
 *
 * @param activate names or patterns of ManagedResourceDefinitions; none: there is no such policy
 * @throws {ApiError}
 */
export async function createDefaultPolicy(
  client: Client,
  activate: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { plural, group } = ACTIVATION_POLICIES;
  const crd = await findLive({ client }, referenceOf(CRDS, `${plural}.${group}`), signal);
  if (activate.length === 0 || crd === undefined || crd.metadata.annotations?.[ANNOTATION_CREATED] !== undefined)
    return;
  const common = { as: "own", manager: FIELD_MANAGERS.install, why: "the installation is new" } as const;
  const object = { ...typeMeta(ACTIVATION_POLICIES), metadata: { name: NAME }, spec: { activate: [...activate] } };
  const create: Action = { ...common, on: referenceOf(ACTIVATION_POLICIES, NAME), do: "create", object };
  const created = await execute(planInOrder("policy", [create]), { actors: { own: { client } }, signal });
  const error = firstFailure(created)?.error;
  if (error !== undefined && !isApiError(error, "AlreadyExists")) throw error;
  const record: Action = {
    ...common,
    on: referenceOf(CRDS, crd.metadata.name),
    // Another manager than that of the CRD's fields, which would drop the annotation at its next apply.
    manager: FIELD_MANAGERS.managed,
    do: "patch",
    body: { metadata: { annotations: { [ANNOTATION_CREATED]: "created" } } },
    seen: crd,
    guard: "uid",
  };
  await executeOrThrow(planInOrder("record", [record]), { actors: { own: { client } }, signal });
}
