import type { InformerOptions, LiveObject } from "@xfn/kubernetes";
import { ANNOTATION_PAUSED, ANNOTATION_POLL_INTERVAL, LABEL_MANAGED } from "../../objects/labels.ts";
import { controllerOf } from "../../objects/owner.ts";

// A provider can have a thousand ManagedResourceDefinitions with schemas of 50 kB. So the caches have their metadata
// alone, and an annotation has what the controller observed: a restart reads none of them.

/** On a ManagedResourceDefinition: its state and generation when its status was written last, and those of its CRD. */
const ANNOTATION_OBSERVED = "apiextensions.crossplane.io/observed";

/** The cache of ManagedResourceDefinitions. */
export const DEFINITION_CACHE: InformerOptions = { metadataOnly: true, project: identityOf };
/** The cache of their CRDs. */
export const CRD_CACHE: InformerOptions = { ...DEFINITION_CACHE, labelSelector: LABEL_MANAGED };

/** Copies the texts, which could be parts of the text of a whole page. */
function identityOf(object: LiveObject): LiveObject {
  const { apiVersion, kind, metadata } = object;
  const { name, uid, resourceVersion, generation, deletionTimestamp, annotations } = metadata;
  const controller = controllerOf(object);
  const kept = Object.entries(annotations ?? {}).filter(([key]) => KEPT.has(key));
  const small = {
    name,
    uid,
    resourceVersion,
    generation,
    deletionTimestamp,
    ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }),
    ...(controller !== undefined && { ownerReferences: [{ ...controller, controller: true }] }),
  };
  return JSON.parse(JSON.stringify({ apiVersion, kind, metadata: small })) as LiveObject;
}

const KEPT: ReadonlySet<string> = new Set([ANNOTATION_OBSERVED, ANNOTATION_PAUSED, ANNOTATION_POLL_INTERVAL]);

/** @param crd the established CRD of an active definition; undefined for an inactive definition */
export function observationOf(definition: LiveObject, crd: LiveObject | undefined): string {
  const own = generationOf(definition);
  if (crd === undefined) return `Inactive/${own}`;
  return `Active/${own}/${crd.metadata.uid}/${generationOf(crd)}`;
}

function generationOf({ metadata }: LiveObject): number {
  return Number(metadata["generation"] ?? 0);
}

/** The last observation of a definition; undefined if there is none. */
export function observed({ metadata }: LiveObject): string | undefined {
  return metadata.annotations?.[ANNOTATION_OBSERVED];
}

/** The metadata that records an observation. */
export function withObservation(observation: string): { readonly annotations: Readonly<Record<string, string>> } {
  return { annotations: { [ANNOTATION_OBSERVED]: observation } };
}

/** The state of a cached definition; undefined if it has changed since it was observed. Active is final. */
export function stateOf(definition: LiveObject): "Active" | "Inactive" | undefined {
  const observation = observed(definition);
  if (observation?.startsWith("Active/")) return "Active";
  return observation === observationOf(definition, undefined) ? "Inactive" : undefined;
}
