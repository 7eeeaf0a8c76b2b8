import { formSpecOpenApi } from "@xfn/composition/definition";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import { APPLICATION_DEFINITIONS, INFRASTRUCTURE_DEFINITIONS, PUBLICATIONS } from "../objects/kinds.ts";
import { AGE, conditionColumn, crd, KIND_REFERENCE, root, version } from "./crd.ts";

const ESTABLISHED = conditionColumn("ESTABLISHED", "Established");
const OFFERED = conditionColumn("OFFERED", "Offered");

const NAMED_BY_KIND: JsonObject = {
  rule: "self.metadata.name == self.spec.crdSpecTemplate.names.plural + '.' + self.spec.crdSpecTemplate.group",
  message: "metadata.name must be <crdSpecTemplate.names.plural>.<crdSpecTemplate.group>",
};
const NAMED_BY_REFERENCE: JsonObject = {
  rule: "self.metadata.name == self.spec.infrastructureDefinitionReference.name",
  message: "metadata.name must be the name of the published InfrastructureDefinition",
};

/** The CustomResourceDefinitions of Crossplane's design "Resource Composition" (`--enable-resource-composition`). */
export function resourceCompositionCrds(): KubernetesObject[] {
  const schema = (kind: Parameters<typeof formSpecOpenApi>[0], rule: JsonObject): JsonObject => ({
    ...root(formSpecOpenApi(kind), {
      controllers: {
        type: "object",
        properties: { compositeResourceType: KIND_REFERENCE, compositeResourceClaimType: KIND_REFERENCE },
      },
    }),
    "x-kubernetes-validations": [rule],
  });
  return [
    crd(INFRASTRUCTURE_DEFINITIONS, {}, [
      version("v1alpha1", schema("InfrastructureDefinition", NAMED_BY_KIND), [ESTABLISHED, AGE], true),
    ]),
    crd(APPLICATION_DEFINITIONS, {}, [
      version("v1alpha1", schema("ApplicationDefinition", NAMED_BY_KIND), [ESTABLISHED, AGE], true),
    ]),
    crd(PUBLICATIONS, {}, [
      version("v1alpha1", schema("InfrastructurePublication", NAMED_BY_REFERENCE), [OFFERED, AGE], true),
    ]),
  ];
}
