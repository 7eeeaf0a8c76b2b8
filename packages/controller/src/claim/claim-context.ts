import type { Definition } from "@xfn/composition/definition";
import { isObject, type JsonObject } from "@xfn/json";
import { isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import type { Actors } from "../account/actors.ts";
import { findCrd } from "../definition/definition-crd.ts";
import type { ApplyCache } from "../objects/apply-cache.ts";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceOf } from "../objects/kinds.ts";
import type { OwnWrites } from "../objects/own-writes.ts";
import { findLive } from "../objects/read-objects.ts";

/** The state of one claim that the process retains between reconciles. It only saves requests and events. */
export interface ClaimMemory {
  readonly writes: OwnWrites;
  readonly applies: ApplyCache;
  /** The fields that an event has reported as set by the Composition. */
  readonly yielded: Set<string>;
}

/** One reconcile of one claim. */
export interface ClaimContext extends Omit<Context, "client" | "composed" | "required"> {
  readonly definition: Definition;
  readonly actors: Actors;
  readonly memory: ClaimMemory;
  readonly signal: AbortSignal;
  readonly claims: ResourceKind;
  readonly composites: ResourceKind;
  /** The claim as last read or written. */
  claim: LiveObject;
}

/** Reads a composite from the cache or from the controller's own writes. Reads it live if no cache has it. */
export async function findComposite(context: ClaimContext, name: string): Promise<LiveObject | undefined> {
  const { actors, informers, composites, memory } = context;
  if (!actors.xr.mayRead(composites)) return findCompositeLive(context, name);
  const cached = informers.peek(composites)?.get(name);
  if (cached === undefined) return findCompositeLive(context, name);
  return memory.writes.newest(referenceOf(composites, name), cached);
}

/** Reads a composite from the API server. */
export async function findCompositeLive(context: ClaimContext, name: string): Promise<LiveObject | undefined> {
  const { actors, composites, memory, signal } = context;
  try {
    const composite = await findLive(actors.xr, referenceOf(composites, name), signal);
    if (composite !== undefined) memory.writes.saw(composite);
    return composite;
  } catch (error) {
    if (!isApiError(error, "KindNotServed")) throw error;
    // Without a CRD, no composites exist. With a CRD, discovery may lag, and the composite may exist.
    if ((await findCrd(actors.own, `${composites.plural}.${composites.group}`, signal)) === undefined) return undefined;
    throw error;
  }
}

/**
 * Patches the claim, with the controller's own rights: the patch only reports on it.
 *
 * @throws {ApiError} `Conflict` if the claim has changed since it was read
 */
export async function patchClaim(context: ClaimContext, body: JsonObject, subresource?: "status"): Promise<void> {
  const { actors, claims, signal, memory } = context;
  const { name, namespace, resourceVersion, uid } = context.claim.metadata;
  const { metadata, ...rest } = body;
  const preconditions = { ...(isObject(metadata) ? metadata : {}), resourceVersion, uid };
  context.claim = await actors.own.client.patch(
    referenceOf(claims, name, namespace),
    "merge",
    { ...rest, metadata: preconditions },
    { fieldManager: FIELD_MANAGERS.claim, signal, subresource },
  );
  memory.writes.saw(context.claim);
}
