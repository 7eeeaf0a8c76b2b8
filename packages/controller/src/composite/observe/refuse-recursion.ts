import { machineryOf } from "@xfn/composition";
import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { CompositeError } from "../../objects/composite-error.ts";
import { controllerOf } from "../../objects/owner.ts";
import type { CompositePort } from "../state/composite-port.ts";

// Platforms nest different Compositions. A Composition that occurs this often among the ancestors composes itself
// without end.
const MAX_OCCURRENCES = 4;
// Ends the search even if owner references form a cycle.
const MAX_ANCESTORS = 64;

/**
 * Refuses to compose an XR whose ancestors already use its Composition: each XR would compose the next one, without
 * end. Reads ancestors only from caches: the controller watches all kinds of XRs.
 *
 * @param composition the name of the selected Composition
 * @throws {CompositeError} `Recursive`
 */
export async function refuseRecursion(port: Ancestry, xr: LiveObject, composition: string): Promise<void> {
  let object: LiveObject | undefined = xr;
  let occurrences = 0;
  for (let depth = 0; depth < MAX_ANCESTORS; depth++) {
    object = await cachedController(port, object);
    if (object === undefined) return;
    if (compositionsOf(object).includes(composition)) occurrences++;
    if (occurrences < MAX_OCCURRENCES) continue;
    throw new CompositeError(
      "Recursive",
      `the Composition ${composition} composes itself: ${occurrences} ancestors of this resource use it, the last one is ` +
        `${object.kind} ${object.metadata.name}; remove its template or function that composes ${xr.kind}`,
    );
  }
}

/** The name of an XR's Composition in each layout, because an ancestor's definition is not available here. */
function compositionsOf(xr: LiveObject): (string | undefined)[] {
  return [true, false].map((isLegacy) => textAt(machineryOf(xr, { isLegacy }), "compositionRef", "name"));
}

type Ancestry = Pick<CompositePort, "actors" | "clock">;

async function cachedController(port: Ancestry, object: LiveObject): Promise<LiveObject | undefined> {
  const { actors, clock } = port;
  const { client, informers: caches } = actors.xr;
  // The composite of a composed claim has no controller; the claim has one.
  const child = controllerOf(object) === undefined ? await cachedClaim(port, object) : object;
  const controller = child && controllerOf(child);
  if (child === undefined || controller === undefined) return undefined;
  const kind = await client.kind(controller.apiVersion, controller.kind, clock).catch(() => undefined);
  const owner = kind && caches.peek(kind)?.get(controller.name, kind.namespaced ? child.metadata.namespace : undefined);
  return owner?.metadata.uid === controller.uid ? owner : undefined;
}

async function cachedClaim({ actors, clock }: Ancestry, composite: LiveObject): Promise<LiveObject | undefined> {
  const { client, informers: caches } = actors.xr;
  const at = (field: string): string =>
    textAt(composite, "spec", "claimRef", field) ?? textAt(composite, "spec", "requirementRef", field) ?? "";
  if (at("name") === "") return undefined;
  const kind = await client.kind(at("apiVersion"), at("kind"), clock).catch(() => undefined);
  return kind && caches.peek(kind)?.get(at("name"), at("namespace"));
}
