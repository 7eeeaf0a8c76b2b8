import { isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { isTrue } from "../objects/conditions.ts";
import { CRDS, DEFINITIONS, referenceOf } from "../objects/kinds.ts";
import { isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { servedKind } from "../objects/served-versions.ts";
import type { DefinitionPort } from "./definition-port.ts";

/** A CRD of a definition that is deleted, with its instances. */
export interface SeenRemoval {
  readonly crd: LiveObject;
  /** Undefined if the CRD serves none. */
  readonly kind: ResourceKind | undefined;
  /** Undefined while the server does not serve them. */
  readonly instances: readonly LiveObject[] | undefined;
}

/**
 * Reads a CRD of a definition, and lists its instances.
 *
 * @returns undefined if the CRD is gone, or has another owner: it and its instances then stay
 */
export async function observeRemoval(
  { client }: Pick<DefinitionPort, "client">,
  definition: LiveObject,
  names: "names" | "claimNames",
  signal: AbortSignal,
): Promise<SeenRemoval | undefined> {
  const { spec } = DEFINITIONS.of(definition);
  const { plural } = spec[names];
  if (plural === undefined || spec.group === undefined) return undefined;
  const crd = await findLive({ client }, referenceOf(CRDS, `${plural}.${spec.group}`), signal);
  if (crd === undefined || !isControlledBy(crd, definition)) return undefined;
  const kind = servedKind(crd);
  return { crd, kind, instances: kind === undefined ? [] : await listInstances({ client }, crd, kind, signal) };
}

/**
 * Lists the instances of a kind; undefined while the server does not serve it. A server stops serving a kind before its
 * deleted CRD is gone, and starts some time after it establishes the CRD.
 */
async function listInstances(
  { client }: Pick<DefinitionPort, "client">,
  crd: LiveObject,
  kind: ResourceKind,
  signal: AbortSignal,
): Promise<readonly LiveObject[] | undefined> {
  try {
    return (await client.list(kind, { signal })).items;
  } catch (error) {
    if (!isApiError(error, "KindNotServed", "NotFound")) throw error;
    // A CRD that was never established has no instances.
    return isTrue(crd, "Established") ? undefined : [];
  }
}
