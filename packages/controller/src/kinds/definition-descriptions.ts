import type { Descriptions } from "@xfn/composition/definition";
import { referenceTo, within } from "./describe.ts";

const COMPOSITION_REFERENCE: Descriptions = {
  name: "is the name of the Composition.",
};

function namesOf(kind: string): Descriptions {
  return {
    kind: `is the kind of ${kind}, such as Database.`,
    plural: "is the plural of the kind in lower case, such as databases.",
    singular: "is the singular in lower case. Defaults to the kind in lower case.",
    listKind: "is the kind of lists. Defaults to the kind with List.",
    shortNames: "are short names for kubectl.",
    categories: "are the groups of kinds, such as all, to which the kind belongs for kubectl.",
  };
}

/** Fields of definitions of all kinds. */
const SHARED: Descriptions = {
  ...within(
    "defaultCompositionRef",
    "names the Composition of composite resources that name and select none.",
    COMPOSITION_REFERENCE,
  ),
  ...within(
    "enforcedCompositionRef",
    "names the Composition of all composite resources. It wins over their own.",
    COMPOSITION_REFERENCE,
  ),
  ...within(
    "serviceAccountRef",
    "names the account with whose rights composite resources are composed.",
    referenceTo("ServiceAccount"),
  ),
};

const COLUMN: Descriptions = {
  name: "is the title of the column.",
  type: "is the type of the values.",
  format: "is the format of the values, such as int32.",
  description: "is the description of the column.",
  priority: "is 0, the default, or a greater number: the column is then shown only with -o wide.",
  jsonPath: "is the path of the values, such as .spec.size.",
};

const SCALE: Descriptions = {
  specReplicasPath: "is the path of the desired number of replicas, such as .spec.replicas.",
  statusReplicasPath: "is the path of the observed number of replicas.",
  labelSelectorPath: "is the path of the selector of the replicas, as a string.",
};

const VERSION: Descriptions = {
  name: "is the name of the version, such as v1alpha1.",
  served: "determines whether the API server serves the version.",
  referenceable: "determines the version that Compositions are for, and objects are stored in.",
  deprecated: "determines whether the API server warns of the version.",
  deprecationWarning: "is the text of that warning.",
  schema: "is the schema of the composite resources.",
  "schema.openAPIV3Schema": "is the schema of spec and status, as in a CustomResourceDefinition.",
  ...within("additionalPrinterColumns", "are columns of kubectl get.", COLUMN),
  subresources: "are further subresources.",
  ...within("subresources.scale", "is the subresource that kubectl scale uses.", SCALE),
};

const WEBHOOK: Descriptions = {
  clientConfig: "is the server of the webhook.",
  "clientConfig.url": "is the URL of the server.",
  ...within("clientConfig.service", "is the Service of the server.", referenceTo("Service")),
  "clientConfig.service.path": "is the path of the requests.",
  "clientConfig.service.port": "is the port. Defaults to 443.",
  "clientConfig.caBundle": "is the certificates that the server's must be signed by: PEM in base64.",
  conversionReviewVersions: "are the accepted versions of ConversionReview.",
};

/** The fields of a CompositeResourceDefinition's spec. */
export const DEFINITION: Descriptions = {
  group: "is the API group of the kind, such as example.org.",
  ...within("names", "are the names of the kind of composite resources.", namesOf("the composite resources")),
  scope: "determines if composite resources are namespaced. LegacyCluster has the fields of Crossplane 1.",
  ...within("claimNames", "are the names of the kind of claims. Without them, there are none.", namesOf("the claims")),
  connectionSecretKeys: "are the keys of the connection secrets. Without any, all are published.",
  defaultCompositeDeletePolicy: "is the default of compositeDeletePolicy of claims.",
  defaultCompositionUpdatePolicy: "is the default of compositionUpdatePolicy.",
  defaultCompositionRevisionSelector: "is the default of compositionRevisionSelector.",
  "defaultCompositionRevisionSelector.matchLabels": "are the labels of the revisions.",
  ...SHARED,
  ...within("versions", "are the versions of the kind. Exactly one is referenceable.", VERSION),
  conversion: "determines how objects are converted between versions.",
  "conversion.strategy": "is None, which changes only the apiVersion, or Webhook.",
  ...within("conversion.webhook", "is the webhook that converts.", WEBHOOK),
  metadata: "is added to the CustomResourceDefinitions of the kinds.",
  "metadata.labels": "are added to the labels.",
  "metadata.annotations": "are added to the annotations.",
};

/** The fields of the specs of InfrastructureDefinitions, ApplicationDefinitions and InfrastructurePublications. */
export const FORMS: Descriptions = {
  ...SHARED,
  crdSpecTemplate: "is the kind that is defined.",
  "crdSpecTemplate.group": "is the API group of the kind, such as example.org.",
  "crdSpecTemplate.version": "is the version of the kind, such as v1alpha1.",
  ...within("crdSpecTemplate.names", "are the names of the kind.", namesOf("the composite resources")),
  "crdSpecTemplate.validation": "has the schema.",
  "crdSpecTemplate.validation.openAPIV3Schema": "is the schema of the spec.",
  connectionDetails: "are the keys of the connection secrets. Without any, all are published.",
  connectionSecret: "is another form of connectionDetails.",
  "connectionSecret.keys": "are the keys.",
  composedScope: "is the scope of the kinds that can be composed: Cluster, the default, or Any.",
  infrastructureDefinitionReference: "names the definition whose kind namespaces can require.",
  "infrastructureDefinitionReference.name": "is the name of the InfrastructureDefinition.",
};
