import { lowerDefinition } from "@xfn/composition/definition";
import { type ApiError, isApiError, type LiveObject, type Outcome, type ResourceKind } from "@xfn/kubernetes";
import { conditionOf } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import {
  FINALIZER_DEFINED,
  FINALIZER_FOREGROUND,
  FINALIZER_OFFERED,
  FINALIZER_ORPHAN,
  finalizersOf,
} from "../objects/finalizers.ts";
import { CRDS, INFRASTRUCTURE_DEFINITIONS, PUBLICATIONS, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import type { Action } from "../plan/action.ts";
import { type Plan, planInOrder } from "../plan/plan.ts";
import { carryOut } from "./carry-out.ts";
import type { DefinitionPort } from "./definition-port.ts";
import { PATCH, planTerminating, TERMINATING } from "./definition-status.ts";
import { observeRemoval, type SeenRemoval } from "./observe-removal.ts";

/** The number of concurrent deletes: a definition may have thousands of instances. */
const DELETE_CONCURRENCY = 16;

/**
 * Deletes the objects of a definition: its claims, which delete their composites, then the other composites, then the
 * CRDs. Then removes the finalizers. The controllers of its kinds run until then, because deleting instances needs
 * them.
 *
 * With `--cascade=orphan`, CRDs and instances stay. With `--cascade=foreground`, the instances are also deleted in the
 * foreground.
 */
export async function terminateDefinition(
  port: DefinitionPort,
  written: LiveObject,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const definition: LiveObject = { ...written, ...lowerDefinition(written) };
  const finalizers = finalizersOf(definition);
  if (!finalizers.includes(FINALIZER_DEFINED) && !finalizers.includes(FINALIZER_OFFERED)) return undefined;
  const wait = finalizers.includes(FINALIZER_ORPHAN) ? undefined : await removeNext(port, definition, signal);
  const report = wait === undefined ? planEnd(definition) : planTerminating(definition, wait.message, port.now());
  await carryOut(port, planInOrder("definition", report === undefined ? [] : [report]), signal);
  if (wait?.failure !== undefined) throw wait.failure;
  if (wait === undefined) port.client.forgetKinds();
  return wait && { requeueAfterMs: wait.ms };
}

/** The reason and the duration of a wait during the termination. */
interface Wait {
  readonly message: string;
  readonly ms: number;
  /** The failed deletion. */
  readonly failure?: ApiError;
}

/** Deletes what must be gone next. @returns undefined if nothing remains */
async function removeNext(
  port: DefinitionPort,
  definition: LiveObject,
  signal: AbortSignal,
): Promise<Wait | undefined> {
  const ms = REQUEUE_AFTER_MS.instancesDeletion;
  const { kind, metadata } = definition;
  // Requirements may still depend on composites, so the publication deletes them first.
  const isInfrastructure = kind === INFRASTRUCTURE_DEFINITIONS.kind;
  const publication = isInfrastructure && (await findLive(port, referenceOf(PUBLICATIONS, metadata.name), signal));
  if (publication)
    return {
      message: `waits for the InfrastructurePublication ${metadata.name}: delete it, with its requirements`,
      ms,
    };
  for (const names of ["claimNames", "names"] as const) {
    try {
      const seen = await observeRemoval(port, definition, names, signal);
      if (seen === undefined) continue;
      const planned = planRemoval(definition, seen);
      // Another object can have the name by now.
      await carryOut(port, planned, signal, { delete: ["Conflict"] });
      return planned;
    } catch (error) {
      if (signal.aborted || !isApiError(error) || error.code === "Conflict") throw error;
      const message = `its ${names === "names" ? "composites" : "claims"} cannot be deleted: ${error.message}`;
      if (conditionOf(definition, "Established")?.["message"] !== message)
        port.events.record(definition, { type: "Warning", reason: TERMINATING, message });
      return { message, ms, failure: error };
    }
  }
  return undefined;
}

/** Plans to remove the finalizers. */
function planEnd(definition: LiveObject): Action {
  const finalizers = finalizersOf(definition).filter((one) => one !== FINALIZER_DEFINED && one !== FINALIZER_OFFERED);
  const body = { metadata: { finalizers } };
  return { ...PATCH, on: referenceTo(definition), why: "its objects are deleted", body, seen: definition };
}

/** Plans to delete the instances of a kind, or its CRD after them. */
function planRemoval(definition: LiveObject, { crd, kind, instances }: SeenRemoval): Plan & Wait {
  const planned = (wait: Wait, actions: readonly Action[]): Plan & Wait => {
    const stage = { name: "deletions", actions, onFailure: "collect", lanes: DELETE_CONCURRENCY } as const;
    return { ...wait, stages: [stage] };
  };
  const [first] = instances ?? [];
  if (kind === undefined || instances === undefined || first === undefined) {
    const isDeletable = instances !== undefined && !isBeingDeleted(crd);
    const message = `waits for the CustomResourceDefinition ${crd.metadata.name} to be deleted`;
    return planned({ message, ms: REQUEUE_AFTER_MS.crdDeletion }, isDeletable ? [planDeletion(crd, CRDS)] : []);
  }
  const policy = finalizersOf(definition).includes(FINALIZER_FOREGROUND) ? "Foreground" : undefined;
  const message = `waits for ${instances.length} ${kind.plural} to be deleted, such as ${first.metadata.name}`;
  const remaining = instances.filter((instance) => !isBeingDeleted(instance));
  const actions = remaining.map((instance) => planDeletion(instance, kind, policy));
  return planned({ message, ms: REQUEUE_AFTER_MS.instancesDeletion }, actions);
}

function planDeletion(seen: LiveObject, kind: ResourceKind, propagation?: "Foreground"): Action {
  const on = referenceOf(kind, seen.metadata.name, seen.metadata.namespace);
  const change = { do: "delete", seen, guard: "uid", propagation } as const;
  return { as: "own", on, manager: FIELD_MANAGERS.definition, why: "its definition is deleted", ...change };
}
