import type { Definition } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/functionio";
import { isApiError, type LiveObject, type ObjectReference, type ResourceKind } from "@xfn/kubernetes";
import { findCrd } from "../definition/definition-crd.ts";
import type { AppliedMemory } from "../objects/apply-changed.ts";
import type { Context } from "../objects/context.ts";
import type { OwnWrites } from "../objects/own-writes.ts";
import { apiVersionOf, findLive } from "../objects/read-objects.ts";
import { CLAIM_MANAGER } from "./claim-fields.ts";

/** What a process remembers of one claim; it only saves requests and events. */
export interface ClaimMemory {
  readonly own: OwnWrites;
  readonly applied: AppliedMemory;
  /** What was told and need not be told again. */
  readonly told: Set<string>;
}

/** One reconcile of one claim: what it works with. */
export interface ClaimWork {
  readonly context: Context;
  readonly definition: Definition;
  readonly memory: ClaimMemory;
  readonly signal: AbortSignal;
  readonly claims: ResourceKind;
  readonly composites: ResourceKind;
  /** The claim as it is known to be: newer after each write. */
  claim: LiveObject;
}

/** What names a composite. */
export function compositeReference({ composites }: ClaimWork, name: string): ObjectReference {
  return { apiVersion: apiVersionOf(composites), kind: composites.kind, name };
}

/** A composite as a cache has it, or our last write if it is newer; one that no cache has as the server has it. */
export async function findComposite(work: ClaimWork, name: string): Promise<LiveObject | undefined> {
  const cached = work.context.informers.peek(work.composites)?.get(name);
  if (cached === undefined) return findCompositeLive(work, name);
  return work.memory.own.newest(compositeReference(work, name), cached);
}

/** A composite as the server has it now. */
export async function findCompositeLive(work: ClaimWork, name: string): Promise<LiveObject | undefined> {
  const { context, composites, signal } = work;
  try {
    const composite = await findLive(context, compositeReference(work, name), signal);
    if (composite !== undefined) work.memory.own.saw(composite);
    return composite;
  } catch (error) {
    // Without its CRD there is none; one that the server only does not list for a moment may be there.
    if (!isApiError(error, "KindNotServed")) throw error;
    if ((await findCrd(context, `${composites.plural}.${composites.group}`, signal)) === undefined) return undefined;
    throw error;
  }
}

/** Changes the claim as it is known to be; a claim that has changed meanwhile is a `Conflict`. */
export async function patchClaim(work: ClaimWork, body: JsonObject, subresource?: "status"): Promise<void> {
  const { context, claims, signal, memory } = work;
  const { name, namespace, resourceVersion, uid } = work.claim.metadata;
  const { metadata, ...rest } = body;
  const about: JsonObject = { ...(metadata as JsonObject | undefined), resourceVersion, uid };
  work.claim = await context.client.patch(
    { apiVersion: apiVersionOf(claims), kind: claims.kind, name, namespace },
    "merge",
    { ...rest, metadata: about },
    { fieldManager: CLAIM_MANAGER, signal, subresource },
  );
  memory.own.saw(work.claim);
}
