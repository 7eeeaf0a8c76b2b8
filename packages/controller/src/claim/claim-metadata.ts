import { ANNOTATION_RESOURCE_NAME, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE } from "@xfn/composition";
import { textsAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { ANNOTATION_CLAIMABLE_BY, ANNOTATION_EXTERNAL_NAME, ANNOTATION_PAUSED } from "../objects/labels.ts";
import { ownedKeys } from "../objects/managed-fields.ts";

/** Labels that identify composites and composed resources: a claim that could set them could impersonate another. */
const OWN_KEYS: ReadonlySet<string> = new Set([
  LABEL_COMPOSITE,
  LABEL_CLAIM_NAME,
  LABEL_CLAIM_NAMESPACE,
  ANNOTATION_RESOURCE_NAME,
  // A claim and its composite are paused separately.
  ANNOTATION_PAUSED,
  // The owner of a composite offers it, not the author of its claim.
  ANNOTATION_CLAIMABLE_BY,
  // Copied from the claim once. After that, the composite's value wins.
  ANNOTATION_EXTERNAL_NAME,
]);

// Annotations of Kubernetes, such as kubectl.kubernetes.io/last-applied-configuration, are about the claim.
const KUBERNETES_KEY = /^(?:[^/]*\.)?(?:kubernetes|k8s)\.io\//;

/** The labels that are copied from a claim to its composite. */
export function wantedLabels({ metadata }: LiveObject): Record<string, string> {
  return carried(textsAt(metadata, "labels"));
}

/** The labels that identify the claim of a composite. They override all others. */
export function claimLabels({ metadata }: LiveObject): Record<string, string> {
  return { [LABEL_CLAIM_NAME]: metadata.name, [LABEL_CLAIM_NAMESPACE]: metadata.namespace ?? "" };
}

/**
 * The annotations that are copied from a claim to its composite. The external name is copied only while the composite
 * has none.
 */
export function wantedAnnotations(claim: LiveObject, composite: LiveObject | undefined): Record<string, string> {
  const annotations = carried(textsAt(claim, "metadata", "annotations"));
  const asked = claim.metadata.annotations?.[ANNOTATION_EXTERNAL_NAME];
  const has = composite?.metadata.annotations?.[ANNOTATION_EXTERNAL_NAME];
  const isOurs =
    composite !== undefined &&
    ownedKeys(composite, FIELD_MANAGERS.claim, "metadata", "annotations").includes(ANNOTATION_EXTERNAL_NAME);
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
