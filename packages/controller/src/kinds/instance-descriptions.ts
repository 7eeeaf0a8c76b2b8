import type { Descriptions, InstanceDescriptions } from "@xfn/composition/definition";
import { referenceTo } from "./describe.ts";

// The fields that composite resources and claims have in addition to those of their definition.

const COMPOSITION_REFERENCE: Descriptions = { name: "name is the name of the Composition." };
const SELECTOR: Descriptions = { matchLabels: "matchLabels are the labels that it must have." };

function objectReference(object: string): Descriptions {
  return {
    apiVersion: `apiVersion is the API version of the ${object}.`,
    kind: `kind is the kind of the ${object}.`,
    ...referenceTo(object),
    uid: `uid is the UID of the ${object}.`,
  };
}

/** The choice of a Composition, and the composed resources. */
const MACHINERY: Descriptions = {
  compositionRef: [
    "compositionRef names the Composition. The controller sets it if it is absent.",
    COMPOSITION_REFERENCE,
  ],
  compositionSelector: ["compositionSelector selects a Composition by its labels, if none is named.", SELECTOR],
  compositionRevisionRef: [
    "compositionRevisionRef names the revision of the Composition. The controller sets it with the Automatic policy.",
    { name: "name is the name of the CompositionRevision." },
  ],
  compositionRevisionSelector: ["compositionRevisionSelector selects the newest revision with its labels.", SELECTOR],
  compositionUpdatePolicy:
    "compositionUpdatePolicy determines whether a new revision of the Composition is used: Automatic or Manual.",
  resourceRefs: ["resourceRefs are the composed resources. The controller writes them.", objectReference("resource")],
};

const SPEC: Descriptions = {
  ...MACHINERY,
  crossplane: ["crossplane configures how this composite resource is composed.", MACHINERY],
  publishConnectionDetailsTo: [
    "publishConnectionDetailsTo is ignored: external secret stores are not supported.",
    {
      name: "name is the name of the secret.",
      configRef: ["configRef names the store.", { name: "name is the name of the StoreConfig." }],
      metadata: [
        "metadata is the metadata of the secret.",
        {
          labels: "labels are the labels of the secret.",
          annotations: "annotations are the annotations of the secret.",
          type: "type is the type of the secret.",
        },
      ],
    },
  ],
  claimRef: ["claimRef is the claim of the composite resource.", objectReference("claim")],
  requirementRef: ["requirementRef is the requirement of the composite resource.", objectReference("requirement")],
  environmentConfigRefs: [
    "environmentConfigRefs are the EnvironmentConfigs of the composite resource. The controller writes them.",
    objectReference("EnvironmentConfig"),
  ],
  resourceRef: [
    "resourceRef is the composite resource. The controller sets it.",
    objectReference("composite resource"),
  ],
  compositeDeletePolicy:
    "compositeDeletePolicy determines whether a deleted claim waits for its composite resource: Foreground or Background.",
  writeConnectionSecretToRef: [
    "writeConnectionSecretToRef names the Secret to which connection details are published.",
    referenceTo("Secret"),
  ],
};

/** The fields of composite resources and of claims. */
export const INSTANCES: InstanceDescriptions = {
  spec: ["spec is the desired state.", SPEC],
  status: [
    "status is the observed state.",
    {
      conditions: [
        "conditions describe whether the object is as desired, and what it waits for.",
        {
          type: "type is the condition's name, such as Ready.",
          status: "status is True, False or Unknown.",
          reason: "reason is the cause of the status in one word, for programs.",
          message: "message is the cause of the status in a sentence, for people.",
          observedGeneration: "observedGeneration is the metadata.generation that is described.",
          lastTransitionTime: "lastTransitionTime is the time of the status's last change.",
        },
      ],
      connectionDetails: [
        "connectionDetails is the state of the connection secret.",
        { lastPublishedTime: "lastPublishedTime is the time at which the secret was last written." },
      ],
    },
  ],
};
