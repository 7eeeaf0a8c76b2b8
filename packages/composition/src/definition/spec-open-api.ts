import type { ObjectOpenApi } from "../api-schema/object.ts";
import { type DefinitionForm, PUBLICATION_KIND } from "./definition.ts";
import { FORM_SPECS, PUBLICATION_SPEC } from "./form-spec.ts";
import { specOf } from "./spec.ts";

/** The schema of the spec for the CRD of CompositeResourceDefinitions. */
export function definitionSpecOpenApi(apiVersion: string): ObjectOpenApi {
  return specOf(apiVersion).openApi;
}

/** The schema of the spec for the CRD of another kind of definition, or of InfrastructurePublications. */
export function formSpecOpenApi(kind: DefinitionForm | typeof PUBLICATION_KIND): ObjectOpenApi {
  return kind === PUBLICATION_KIND ? PUBLICATION_SPEC.openApi : FORM_SPECS[kind].openApi;
}
