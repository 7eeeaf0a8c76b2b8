import type { Descriptions } from "@xfn/composition/definition";
import { referenceTo, within } from "./describe.ts";

// The fields that composite resources and claims have in addition to those of their definition.

const COMPOSITION_REFERENCE: Descriptions = {
  name: "is the name of the Composition.",
};
const SELECTOR: Descriptions = {
  matchLabels: "are the labels that it must have.",
};

function objectReference(object: string): Descriptions {
  return {
    apiVersion: `is the API version of the ${object}.`,
    kind: `is the kind of the ${object}.`,
    ...referenceTo(object),
    uid: `is the UID of the ${object}.`,
  };
}

/** The choice of a Composition, and the composed resources. */
const MACHINERY: Descriptions = {
  ...within("compositionRef", "names the Composition. The controller sets it if it is absent.", COMPOSITION_REFERENCE),
  ...within("compositionSelector", "selects a Composition by its labels, if none is named.", SELECTOR),
  compositionRevisionRef: "names the revision of the Composition. The controller sets it with the Automatic policy.",
  "compositionRevisionRef.name": "is the name of the CompositionRevision.",
  ...within("compositionRevisionSelector", "selects the newest revision with its labels.", SELECTOR),
  compositionUpdatePolicy: "determines whether a new revision of the Composition is used: Automatic or Manual.",
  ...within("resourceRefs", "are the composed resources. The controller writes them.", objectReference("resource")),
};

const SPEC: Descriptions = {
  ...MACHINERY,
  ...within("crossplane", "configures how this composite resource is composed.", MACHINERY),
  publishConnectionDetailsTo: "is ignored: external secret stores are not supported.",
  "publishConnectionDetailsTo.name": "is the name of the secret.",
  "publishConnectionDetailsTo.configRef": "names the store.",
  "publishConnectionDetailsTo.configRef.name": "is the name of the StoreConfig.",
  "publishConnectionDetailsTo.metadata": "is the metadata of the secret.",
  "publishConnectionDetailsTo.metadata.labels": "are the labels of the secret.",
  "publishConnectionDetailsTo.metadata.annotations": "are the annotations of the secret.",
  "publishConnectionDetailsTo.metadata.type": "is the type of the secret.",
  ...within("claimRef", "is the claim of the composite resource.", objectReference("claim")),
  ...within("requirementRef", "is the requirement of the composite resource.", objectReference("requirement")),
  ...within(
    "environmentConfigRefs",
    "are the EnvironmentConfigs of the composite resource. The controller writes them.",
    objectReference("EnvironmentConfig"),
  ),
  ...within("resourceRef", "is the composite resource. The controller sets it.", objectReference("composite resource")),
  compositeDeletePolicy:
    "determines whether a deleted claim waits for its composite resource: Foreground or Background.",
  ...within(
    "writeConnectionSecretToRef",
    "names the Secret to which connection details are published.",
    referenceTo("Secret"),
  ),
};

/** The fields of composite resources and of claims. */
export const INSTANCES: Descriptions = {
  ...within("spec", "is the desired state.", SPEC),
  status: "is the observed state.",
  "status.conditions": "describe whether the object is as desired, and what it waits for.",
  "status.conditions.type": "is the condition's name, such as Ready.",
  "status.conditions.status": "is True, False or Unknown.",
  "status.conditions.reason": "is the cause of the status in one word, for programs.",
  "status.conditions.message": "is the cause of the status in a sentence, for people.",
  "status.conditions.observedGeneration": "is the metadata.generation that is described.",
  "status.conditions.lastTransitionTime": "is the time of the status's last change.",
  "status.lastHandledReconcileAt": "is the last crossplane.io/reconcile-requested-at that led to a reconcile.",
  "status.connectionDetails": "is the state of the connection secret.",
  "status.connectionDetails.lastPublishedTime": "is the time at which the secret was last written.",
};
