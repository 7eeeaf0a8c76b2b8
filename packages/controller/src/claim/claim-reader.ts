import { layoutOfDefinition } from "@xfn/composition/definition";
import { textAt } from "@xfn/json";
import { isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { secretReferenceOf } from "../objects/connection-secrets.ts";
import { CRDS, definitionKindOf, referenceOf, SECRETS } from "../objects/kinds.ts";
import { isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { parseQueueKey } from "../objects/references.ts";
import { bindingOf, type NamedComposite, namedComposite, type Offering, type SeenComposite } from "./claim-binding.ts";
import { ClaimError } from "./claim-error.ts";
import type { ClaimMemory, ClaimPort, Subject } from "./claim-port.ts";
import type { SeenSecrets } from "./plan-copy.ts";

type ReaderPort = Pick<ClaimPort, "actors" | "signal">;

/** Reads the claim with a key: from the cache or from the controller's own writes. */
export async function findClaim(
  { actors, signal }: ReaderPort,
  claims: ResourceKind,
  key: string,
  { writes }: ClaimMemory,
): Promise<LiveObject | undefined> {
  const { name, namespace } = parseQueueKey(key);
  const reference = referenceOf(claims, name, namespace);
  const cache = actors.own.informers.peek(claims);
  if (cache === undefined) return findLive(actors.own, reference, signal);
  const cached = cache.get(name, namespace);
  return cached && writes.newest(reference, cached);
}

/** The state of a claim's composite before a reconcile. */
export interface SeenClaim {
  /** Without a composite if it does not exist. */
  readonly named: NamedComposite | SeenComposite;
  /** A change of an annotation does not change the generation of a definition, so it is not parsed again. */
  readonly offering: Offering;
}

/**
 * Reads a claim's composite from the cache or from the controller's own writes. Reads it live if no cache has it.
 *
 * @throws {ClaimError} `InvalidResourceRef`
 */
export async function observeClaim(port: ReaderPort, subject: Subject): Promise<SeenClaim> {
  const { own, xr } = port.actors;
  const { composites, definition, memory } = subject;
  const { metadata } = definition;
  const named = namedComposite(subject);
  const cached = xr.mayRead(composites) ? own.informers.peek(composites)?.get(named.name) : undefined;
  const composite =
    cached === undefined
      ? await findLiveComposite(port, subject, named.name)
      : memory.writes.newest(referenceOf(composites, named.name), cached);
  return {
    named: composite === undefined ? named : { ...named, composite, binding: bindingOf(subject, composite) },
    offering: own.informers.peek(definitionKindOf(definition))?.get(metadata.name ?? "") ?? { metadata },
  };
}

/** Reads the composite of a claim that is deleted from the API server. */
export async function observeEnding(port: ReaderPort, subject: Subject): Promise<SeenComposite | undefined> {
  let named: NamedComposite;
  try {
    named = namedComposite(subject);
  } catch (error) {
    // A claim with an invalid reference was never bound.
    if (error instanceof ClaimError) return undefined;
    throw error;
  }
  const composite = await findLiveComposite(port, subject, named.name);
  return composite && { ...named, composite, binding: bindingOf(subject, composite) };
}

/** Reads a claim's copy of a connection secret; undefined if it asks for none, or it does not exist. */
export async function findCopy({ actors, signal }: ReaderPort, claim: LiveObject): Promise<LiveObject | undefined> {
  const to = copyOf(claim);
  return to && (await findLive(actors.xr, referenceOf(SECRETS, to.name, to.namespace), signal));
}

/** Reads the connection secrets of a claim and its composite; undefined if one of them has none. */
export async function observeSecrets(
  port: ReaderPort,
  { claim, definition }: Subject,
  composite: LiveObject,
): Promise<SeenSecrets | undefined> {
  const to = copyOf(claim);
  const from = secretReferenceOf(composite, layoutOfDefinition(definition));
  if (to === undefined || from === undefined) return undefined;
  const source = await findLive(port.actors.xr, referenceOf(SECRETS, from.name, from.namespace), port.signal);
  const isOwn = source !== undefined && isControlledBy(source, composite);
  return { from, source, to, copy: isOwn ? await findCopy(port, claim) : undefined };
}

function copyOf(claim: LiveObject): SeenSecrets["to"] | undefined {
  const name = textAt(claim, "spec", "writeConnectionSecretToRef", "name");
  return name === undefined ? undefined : { name, namespace: claim.metadata.namespace ?? "" };
}

/** Reads a composite from the API server. */
export async function findLiveComposite(
  { actors, signal }: ReaderPort,
  { composites, memory }: Subject,
  name: string,
): Promise<LiveObject | undefined> {
  try {
    const composite = await findLive(actors.xr, referenceOf(composites, name), signal);
    if (composite !== undefined) memory.writes.saw(composite);
    return composite;
  } catch (error) {
    if (!isApiError(error, "KindNotServed")) throw error;
    // Without a CRD, no composites exist. With a CRD, discovery may lag, and the composite may exist.
    const crd = referenceOf(CRDS, `${composites.plural}.${composites.group}`);
    if ((await findLive(actors.own, crd, signal)) === undefined) return undefined;
    throw error;
  }
}
