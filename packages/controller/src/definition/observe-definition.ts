import type { KubernetesObject } from "@xfn/json";
import { type ApiError, type ApiErrorCode, isApiError, type LiveObject, type ObjectReference } from "@xfn/kubernetes";
import { hasElapsed } from "../objects/elapsed.ts";
import { CLUSTER_ROLES, CRDS, referenceOf, SERVICE_ACCOUNTS } from "../objects/kinds.ts";
import { DEFINED_SELECTOR } from "../objects/labels.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { type SeenCrd, stateOf } from "./definition-crd.ts";
import { accountOf, type DefinitionPort, type PendingCrd, type Subject } from "./definition-port.ts";
import type { SeenRole } from "./definition-roles.ts";
import type { SeenDefinition } from "./plan-definition.ts";

/** Finds the objects of a definition in the caches, which lack its service account. */
export function peekDefinition({ informers, instanceProblems, now }: DefinitionPort, subject: Subject): SeenDefinition {
  const cache = informers.peek(CRDS, DEFINED_SELECTOR);
  const seen = (desired: KubernetesObject | undefined): SeenCrd | undefined =>
    desired && { desired, observed: cache?.get(nameOf(desired)) };
  const crds = { composites: seen(subject.crds.composites), claims: seen(subject.crds.claims) };
  const problems = instanceProblems(subject.key);
  return { subject, crds, account: undefined, problems, isWatched: cache !== undefined, now: now() };
}

/** Reads the objects of a definition. */
export async function observeDefinition(
  port: DefinitionPort,
  subject: Subject,
  signal: AbortSignal,
): Promise<SeenDefinition> {
  const cached = peekDefinition(port, subject);
  const named = accountOf(subject);
  const reference = named && referenceOf(SERVICE_ACCOUNTS, named.name, named.namespace);
  const account = reference && (await findOrRefusal(port, reference, signal));
  const seen = async (desired: KubernetesObject | undefined): Promise<SeenCrd | undefined> =>
    desired && { desired, observed: await findLive(port, referenceOf(CRDS, nameOf(desired)), signal) };
  const crds = { composites: await seen(subject.crds.composites), claims: await seen(subject.crds.claims) };
  return { ...cached, crds, account };
}

/** Finds roles in the cache. */
export function peekRoles({ informers }: DefinitionPort, roles: readonly KubernetesObject[]): SeenRole[] {
  const cache = informers.peek(CLUSTER_ROLES, DEFINED_SELECTOR);
  return roles.map((role) => ({ role, found: cache?.get(nameOf(role)) }));
}

/** Reads roles. */
export async function observeRoles(
  port: DefinitionPort,
  roles: readonly KubernetesObject[],
  signal: AbortSignal,
): Promise<SeenRole[]> {
  const seen: SeenRole[] = [];
  for (const role of roles) {
    const found = await findOrRefusal(port, referenceOf(CLUSTER_ROLES, nameOf(role)), signal, "Forbidden");
    seen.push({ role, found });
  }
  return seen;
}

/**
 * Whether a definition still waits for its CRD, according to the caches. An event reports the end of the wait. The API
 * server establishes the CRDs of a burst one after another, so live reads for every waiting definition would slow it
 * down.
 */
export function isStillPending(
  { informers, now }: DefinitionPort,
  pending: PendingCrd | undefined,
  object: LiveObject | undefined,
): boolean {
  if (pending === undefined || hasElapsed(pending.readAt, now(), REQUEUE_AFTER_MS.watchedCrdPending)) return false;
  if (object === undefined || isBeingDeleted(object) || isPaused(object)) return false;
  if (object.metadata.uid !== pending.uid || object.metadata["generation"] !== pending.generation) return false;
  const crd = informers.peek(CRDS, DEFINED_SELECTOR)?.get(pending.name);
  return crd !== undefined && isControlledBy(crd, object) && !isBeingDeleted(crd) && stateOf(crd).is === "pending";
}

/** @returns an error with one of the codes, or with any if none are given */
async function findOrRefusal(
  { client }: Pick<DefinitionPort, "client">,
  reference: ObjectReference,
  signal: AbortSignal,
  ...codes: readonly ApiErrorCode[]
): Promise<ApiError | LiveObject | undefined> {
  return await findLive({ client }, reference, signal).catch((error: unknown) => {
    if (isApiError(error, ...codes)) return error;
    throw error;
  });
}

function nameOf({ metadata }: KubernetesObject): string {
  return metadata?.name ?? "";
}
