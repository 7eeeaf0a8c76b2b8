import type { Descriptions } from "@xfn/composition/definition";
import { referenceTo } from "./describe.ts";

const COMPOSITION_REFERENCE: Descriptions = { name: "name is the name of the Composition." };

function namesOf(kind: string): Descriptions {
  return {
    kind: `kind is the kind of ${kind}, such as Database.`,
    plural: "plural is the plural of the kind in lower case, such as databases.",
    singular: "singular is the singular in lower case. Defaults to the kind in lower case.",
    listKind: "listKind is the kind of lists. Defaults to the kind with List.",
    shortNames: "shortNames are short names for kubectl.",
    categories: "categories are the groups of kinds, such as all, to which the kind belongs for kubectl.",
  };
}

/** Fields of definitions of all kinds. */
const SHARED: Descriptions = {
  defaultCompositionRef: [
    "defaultCompositionRef names the Composition of composite resources that name and select none.",
    COMPOSITION_REFERENCE,
  ],
  enforcedCompositionRef: [
    "enforcedCompositionRef names the Composition of all composite resources. It wins over their own.",
    COMPOSITION_REFERENCE,
  ],
  serviceAccountRef: [
    "serviceAccountRef names the account with whose rights composite resources are composed.",
    referenceTo("ServiceAccount"),
  ],
};

const COLUMN: Descriptions = {
  name: "name is the title of the column.",
  type: "type is the type of the values.",
  format: "format is the format of the values, such as int32.",
  description: "description is the description of the column.",
  priority: "priority is 0, the default, or a greater number: the column is then shown only with -o wide.",
  jsonPath: "jsonPath is the path of the values, such as .spec.size.",
};

const SCALE: Descriptions = {
  specReplicasPath: "specReplicasPath is the path of the desired number of replicas, such as .spec.replicas.",
  statusReplicasPath: "statusReplicasPath is the path of the observed number of replicas.",
  labelSelectorPath: "labelSelectorPath is the path of the selector of the replicas, as a string.",
};

const VERSION: Descriptions = {
  name: "name is the name of the version, such as v1alpha1.",
  served: "served determines whether the API server serves the version.",
  referenceable: "referenceable determines the version that Compositions are for, and objects are stored in.",
  deprecated: "deprecated determines whether the API server warns of the version.",
  deprecationWarning: "deprecationWarning is the text of that warning.",
  schema: [
    "schema is the schema of the composite resources.",
    { openAPIV3Schema: "openAPIV3Schema is the schema of spec and status, as in a CustomResourceDefinition." },
  ],
  additionalPrinterColumns: ["additionalPrinterColumns are columns of kubectl get.", COLUMN],
  subresources: [
    "subresources are further subresources.",
    { scale: ["scale is the subresource that kubectl scale uses.", SCALE] },
  ],
};

const WEBHOOK: Descriptions = {
  clientConfig: [
    "clientConfig is the server of the webhook.",
    {
      url: "url is the URL of the server.",
      service: [
        "service is the Service of the server.",
        {
          ...referenceTo("Service"),
          path: "path is the path of the requests.",
          port: "port is the port. Defaults to 443.",
        },
      ],
      caBundle: "caBundle is the certificates that the server's must be signed by: PEM in base64.",
    },
  ],
  conversionReviewVersions: "conversionReviewVersions are the accepted versions of ConversionReview.",
};

/** The fields of a CompositeResourceDefinition's spec. */
export const DEFINITION: Descriptions = {
  group: "group is the API group of the kind, such as example.org.",
  names: ["names are the names of the kind of composite resources.", namesOf("the composite resources")],
  scope: "scope determines if composite resources are namespaced. LegacyCluster has the fields of Crossplane 1.",
  claimNames: ["claimNames are the names of the kind of claims. Without them, there are none.", namesOf("the claims")],
  connectionSecretKeys: "connectionSecretKeys are the keys of the connection secrets. Without any, all are published.",
  defaultCompositeDeletePolicy: "defaultCompositeDeletePolicy is the default of compositeDeletePolicy of claims.",
  defaultCompositionUpdatePolicy: "defaultCompositionUpdatePolicy is the default of compositionUpdatePolicy.",
  defaultCompositionRevisionSelector: [
    "defaultCompositionRevisionSelector is the default of compositionRevisionSelector.",
    { matchLabels: "matchLabels are the labels of the revisions." },
  ],
  ...SHARED,
  versions: ["versions are the versions of the kind. Exactly one is referenceable.", VERSION],
  conversion: [
    "conversion determines how objects are converted between versions.",
    {
      strategy: "strategy is None, which changes only the apiVersion, or Webhook.",
      webhook: ["webhook is the webhook that converts.", WEBHOOK],
    },
  ],
  metadata: [
    "metadata is added to the CustomResourceDefinitions of the kinds.",
    { labels: "labels are added to the labels.", annotations: "annotations are added to the annotations." },
  ],
};

/** The fields of the specs of InfrastructureDefinitions, ApplicationDefinitions and InfrastructurePublications. */
export const FORMS: Descriptions = {
  ...SHARED,
  crdSpecTemplate: [
    "crdSpecTemplate is the kind that is defined.",
    {
      group: "group is the API group of the kind, such as example.org.",
      version: "version is the version of the kind, such as v1alpha1.",
      names: ["names are the names of the kind.", namesOf("the composite resources")],
      validation: ["validation has the schema.", { openAPIV3Schema: "openAPIV3Schema is the schema of the spec." }],
    },
  ],
  connectionDetails: "connectionDetails are the keys of the connection secrets. Without any, all are published.",
  connectionSecret: ["connectionSecret is another form of connectionDetails.", { keys: "keys are the keys." }],
  composedScope: "composedScope is the scope of the kinds that can be composed: Cluster, the default, or Any.",
  infrastructureDefinitionReference: [
    "infrastructureDefinitionReference names the definition whose kind namespaces can require.",
    { name: "name is the name of the InfrastructureDefinition." },
  ],
};
