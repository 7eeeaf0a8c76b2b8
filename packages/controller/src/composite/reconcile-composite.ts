import type { Definition } from "@xfn/composition/definition";
import {
  isApiError,
  type LiveObject,
  type ObjectReference,
  type Outcome,
  type Reconcile,
  type ResourceKind,
} from "@xfn/kubernetes";
import { type CompositeError, explain, type Failure, together } from "../objects/composite-error.ts";
import type { Condition } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { ANNOTATION_PAUSED } from "../objects/labels.ts";
import { apiVersionOf, findLive } from "../objects/read-objects.ts";
import { composeResources } from "./compose.ts";
import { type CompositeMemory, emptyMemory } from "./composite-memory.ts";
import { writeStatus } from "./composite-status.ts";
import { deleteComposite } from "./delete-composite.ts";
import { pullSecretReader } from "./pull-auth.ts";
import { readLive, tell, type Work } from "./reconcile-context.ts";

/** Polls are spread over this part of the interval, so that XRs that were made at once do not stay together. */
const JITTER = 0.2;

/** After a conflict it is looked again this soon; twice as long after each further one. */
const CONFLICT_MS = 20;
const MAX_CONFLICT_MS = 5_000;

/**
 * Reconciles the composite resources (XRs) of a definition, each by its name: what its Composition makes of it exists, with what
 * holds at every instant (`docs/controller.md`): one object for each entry, recorded before it is created and until it is
 * gone; nothing deleted that the XR does not control, or after a run that failed; no write where nothing changes.
 */
export function compositeReconciler(context: Context, definition: Definition): Reconcile {
  const kind = compositeKindOf(definition);
  const memories = new Map<string, CompositeMemory>();
  const pullSecrets = pullSecretReader();

  const memoryOf = (key: string, uid: string | undefined): CompositeMemory | undefined => {
    const memory = memories.get(key);
    if (memory !== undefined && memory.uid !== uid) {
      memories.delete(key);
      context.composed?.watch(memory.uid, []);
    }
    if (uid === undefined) return undefined;
    const own = memories.get(key) ?? emptyMemory(uid, context.now);
    memories.set(key, own);
    return own;
  };

  return async (key, signal) => {
    const reference = referenceOf(kind, key);
    const found = await findComposite(context, kind, reference, signal);
    const memory = memoryOf(key, found?.metadata.uid);
    if (found === undefined || memory === undefined) return undefined;
    memory.own.begin();
    const xr = memory.own.newest(reference, found) ?? found;
    const work: Work = { context, definition, memory, pullSecrets, signal, xr, said: new Set(), wrote: false };
    try {
      const outcome = await reconcileComposite(work);
      memory.conflicts = 0;
      return outcome;
    } catch (error) {
      if (!isApiError(error, "Conflict")) throw error;
      // Somebody else wrote: the next look is at what is there now.
      await readLive(work, reference);
      return { requeueAfterMs: Math.min(CONFLICT_MS * 2 ** memory.conflicts++, MAX_CONFLICT_MS) };
    } finally {
      memory.said = work.said;
    }
  };
}

/** The kind of a definition's composite resources, in the version that compositions are written for. */
export function compositeKindOf({ spec }: Definition): ResourceKind {
  const version = spec.versions.find(({ referenceable }) => referenceable)?.name ?? "";
  return { group: spec.group, version, kind: spec.names.kind, plural: spec.names.plural, namespaced: false };
}

async function findComposite(
  context: Context,
  kind: ResourceKind,
  reference: ObjectReference,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  const cache = context.informers.peek(kind);
  return cache === undefined ? findLive(context, reference, signal) : cache.get(reference.name, reference.namespace);
}

async function reconcileComposite(work: Work): Promise<Outcome | undefined> {
  if (work.xr.metadata.annotations?.[ANNOTATION_PAUSED] === "true") {
    await writeStatus(work, { conditions: [{ type: "Synced", status: "False", reason: "ReconcilePaused" }] });
    return undefined;
  }
  let readiness: Condition | undefined;
  try {
    if (work.xr.metadata["deletionTimestamp"] !== undefined) return await deleteComposite(work);
    const { wanted, unready, published, failures } = await composeResources(work);
    readiness = ready(unready);
    const failure = failures.length === 0 ? undefined : together(failures);
    if (failure !== undefined)
      tell(work, "Warning", "ComposeResources", `cannot compose resources: ${failure.message}`);
    // Of a reconcile that had nothing to do there is nothing to tell.
    else if (work.wrote) tell(work, "Normal", "ComposeResources", "Successfully composed resources");
    await writeStatus(work, { wanted, published, conditions: [synced(failure && explain(failure)), readiness] });
    if (failure !== undefined) throw new Told(failure);
  } catch (error) {
    if (error instanceof Told) throw error.cause;
    if (work.signal.aborted || isApiError(error, "Conflict")) throw error;
    const failure = explain(error);
    tell(work, "Warning", "ComposeResources", `cannot compose resources: ${failure.message}`);
    // A status that the server does not take keeps nobody from being told what became of the resources.
    await writeStatus(work, { conditions: [synced(failure), ...(readiness === undefined ? [] : [readiness])] });
    throw error;
  }
  const poll = work.context.pollIntervalMs * (1 - JITTER / 2 + JITTER * Math.random());
  return { requeueAfterMs: Math.min(poll, work.memory.own.lookAgainAfterMs ?? poll) };
}

/** A failure that the XR's status tells of already. */
class Told extends Error {
  constructor(cause: CompositeError) {
    super("told", { cause });
  }
}

function synced(failure: Failure | undefined): Condition {
  return failure === undefined
    ? { type: "Synced", status: "True", reason: "ReconcileSuccess" }
    : { type: "Synced", status: "False", ...failure };
}

/** This many entries are named, the others counted. */
const MAX_NAMED = 10;

function ready(unready: readonly string[]): Condition {
  if (unready.length === 0) return { type: "Ready", status: "True", reason: "Available" };
  const more = unready.length > MAX_NAMED ? `, and ${unready.length - MAX_NAMED} more` : "";
  const message = `Unready resources: ${unready.slice(0, MAX_NAMED).join(", ")}${more}`;
  return { type: "Ready", status: "False", reason: "Creating", message };
}

function referenceOf(kind: ResourceKind, key: string): ObjectReference {
  const slash = key.indexOf("/");
  const place = slash === -1 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...place };
}
