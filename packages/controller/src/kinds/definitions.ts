import { DEFINITION_API_VERSIONS, definitionSpecOpenApi, formSpecOpenApi } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/json";
import { AGE, conditionColumn, defineKind, type Kind } from "./define-kind.ts";
import { DEFINITION, FORMS } from "./definition-descriptions.ts";
import { described } from "./describe.ts";
import { record, type Texts, text } from "./fields.ts";
import { status } from "./status.ts";
import type { View } from "./view.ts";

type Names = View & Texts<"kind" | "plural">;

/** The fields that the controller reads from definitions. @xfn/composition parses them whole. */
interface Spec extends View, Texts<"group"> {
  readonly names: Names;
  readonly claimNames: Names;
}

/** The fields that the controller reads from InfrastructureDefinitions and ApplicationDefinitions. */
interface FormSpec extends View {
  readonly crdSpecTemplate: { readonly names: Names };
}

interface Served {
  readonly status: {
    readonly controllers: View & {
      readonly compositeResourceType: Texts<"apiVersion" | "kind">;
      readonly compositeResourceClaimType: Texts<"apiVersion" | "kind">;
    };
  };
}

const KIND = {
  "apiVersion!": text("is the API version of the kind."),
  "kind!": text("is the kind."),
};

const STATUS = status({
  controllers: record("are the kinds that the controller reconciles.", {
    compositeResourceType: record("is the kind of the composite resources.", KIND),
    compositeResourceClaimType: record("is the kind of the claims.", KIND),
  }),
});

const GROUP = "apiextensions.crossplane.io";
const ESTABLISHED = conditionColumn("ESTABLISHED", "Established");
const OFFERED = conditionColumn("OFFERED", "Offered");

/**
 * The versions differ in the default scope. The server sets the default when an object is written. When it reads an
 * object that was stored without a scope, it uses the default of the stored version.
 */
export const DEFINITIONS: Kind<Served & { readonly spec: Spec }> = defineKind({
  group: GROUP,
  kind: "CompositeResourceDefinition",
  shortNames: ["xrd", "xrds"],
  versions: versionsOf(DEFINITION_API_VERSIONS),
  about: "A CompositeResourceDefinition defines a kind of composite resource, and optionally of claims for it.",
  fields: (version) => ({
    "spec!": described<Spec>("is the kind that is defined.", definitionSpecOpenApi(`${GROUP}/${version}`), DEFINITION),
    status: STATUS,
  }),
  columns: [ESTABLISHED, OFFERED, AGE],
  more: namedBy("self.spec.names.plural + '.' + self.spec.group", "<names.plural>.<group>"),
});

function versionsOf([stored, ...others]: readonly [string, ...string[]]): [string, ...string[]] {
  const short = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf("/") + 1);
  return [short(stored), ...others.map(short)];
}

/** @param described what the name of an object must be */
export function namedBy(name: string, described: string): JsonObject {
  const rule = `self.metadata.name == ${name}`;
  return { "x-kubernetes-validations": [{ rule, message: `metadata.name must be ${described}` }] };
}

// The kinds of Crossplane's design "Resource Composition" (`--enable-resource-composition`).
function formKind(
  kind: Parameters<typeof formSpecOpenApi>[0],
  about: string,
  columns: readonly JsonObject[],
  name: JsonObject,
): Kind<Served & { readonly spec: FormSpec }> {
  const spec = described<FormSpec>("is what is defined.", formSpecOpenApi(kind), FORMS);
  return defineKind({
    group: GROUP,
    kind,
    versions: ["v1alpha1"],
    about,
    fields: { "spec!": spec, status: STATUS },
    columns,
    more: name,
  });
}

const NAMED_BY_KIND = namedBy(
  "self.spec.crdSpecTemplate.names.plural + '.' + self.spec.crdSpecTemplate.group",
  "<crdSpecTemplate.names.plural>.<crdSpecTemplate.group>",
);

export const INFRASTRUCTURE_DEFINITIONS: Kind<Served & { readonly spec: FormSpec }> = formKind(
  "InfrastructureDefinition",
  "An InfrastructureDefinition defines a kind of cluster-scoped composite resource.",
  [ESTABLISHED, AGE],
  NAMED_BY_KIND,
);
export const APPLICATION_DEFINITIONS: Kind<Served & { readonly spec: FormSpec }> = formKind(
  "ApplicationDefinition",
  "An ApplicationDefinition defines a kind of namespaced composite resource, which composes in its namespace.",
  [ESTABLISHED, AGE],
  NAMED_BY_KIND,
);
export const PUBLICATIONS: Kind<Served> = formKind(
  "InfrastructurePublication",
  "An InfrastructurePublication lets namespaces require composite resources of an InfrastructureDefinition.",
  [OFFERED, AGE],
  namedBy("self.spec.infrastructureDefinitionReference.name", "the name of the published InfrastructureDefinition"),
);
