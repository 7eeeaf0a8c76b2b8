import { ANNOTATION_RESOURCE_NAME, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE } from "@xfn/composition";
import type { LiveObject } from "@xfn/kubernetes";
import { ANNOTATION_EXTERNAL_NAME, ANNOTATION_PAUSED } from "../objects/labels.ts";
import { ownedKeys } from "../objects/managed-fields.ts";
import { textsAt } from "../objects/read-objects.ts";
import { CLAIM_MANAGER } from "./claim-fields.ts";

/** Labels by which the machinery knows composites and composed resources: a claim that could set them would pass for another. */
const OWN_KEYS: ReadonlySet<string> = new Set([
  LABEL_COMPOSITE,
  LABEL_CLAIM_NAME,
  LABEL_CLAIM_NAMESPACE,
  ANNOTATION_RESOURCE_NAME,
  // Each is paused for itself.
  ANNOTATION_PAUSED,
  // Taken from the claim once; then it is the composite's.
  ANNOTATION_EXTERNAL_NAME,
]);

// Kubernetes' own, such as kubectl.kubernetes.io/last-applied-configuration, are about the claim.
const KUBERNETES_KEY = /^(?:[^/]*\.)?(?:kubernetes|k8s)\.io\//;

/** The labels that a claim gives to its composite as its author wrote them. */
export function wantedLabels({ metadata }: LiveObject): Record<string, string> {
  return carried(textsAt(metadata, "labels"));
}

/** The labels that say whose a composite is: the claim's own whatever anybody sets. */
export function claimLabels({ metadata }: LiveObject): Record<string, string> {
  return { [LABEL_CLAIM_NAME]: metadata.name, [LABEL_CLAIM_NAMESPACE]: metadata.namespace ?? "" };
}

/**
 * The annotations that a claim gives to its composite. The external name is the claim's as long as the composite has none; from
 * then on the composite keeps the one that it has.
 */
export function wantedAnnotations(claim: LiveObject, composite: LiveObject | undefined): Record<string, string> {
  const annotations = carried(textsAt(claim, "metadata", "annotations"));
  const asked = claim.metadata.annotations?.[ANNOTATION_EXTERNAL_NAME];
  const has = composite?.metadata.annotations?.[ANNOTATION_EXTERNAL_NAME];
  const isOurs =
    composite !== undefined &&
    ownedKeys(composite, CLAIM_MANAGER, "metadata", "annotations").includes(ANNOTATION_EXTERNAL_NAME);
  if (has === undefined || has === "") {
    if (asked !== undefined && asked !== "") annotations[ANNOTATION_EXTERNAL_NAME] = asked;
  } else if (isOurs) annotations[ANNOTATION_EXTERNAL_NAME] = has;
  return annotations;
}

function carried(texts: Readonly<Record<string, string>>): Record<string, string> {
  const rest = Object.create(null) as Record<string, string>;
  for (const [key, value] of Object.entries(texts)) {
    if (!OWN_KEYS.has(key) && !KUBERNETES_KEY.test(key)) rest[key] = value;
  }
  return rest;
}
