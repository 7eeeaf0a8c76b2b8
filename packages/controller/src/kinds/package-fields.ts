import { PACKAGE_REFERENCE } from "@xfn/composition";
import type { JsonObject } from "@xfn/json";
import { choice, type Field, record, schemaOf, type Texts, text } from "./fields.ts";
import type { View } from "./view.ts";

// Fields that several kinds of Crossplane's package manager share.

/** @param rules in addition to the rules for the form of a reference */
export function packageReference(description: string, ...rules: readonly JsonObject[]): Field<string | undefined> {
  const { "x-kubernetes-validations": form = [], ...schema } = PACKAGE_REFERENCE.openApi;
  return text(description, { ...schema, "x-kubernetes-validations": [...(form as JsonObject[]), ...rules] });
}

/** The names of a list of references. */
export function namesOf(references: readonly Texts<"name">[]): string[] {
  return references.flatMap(({ name }) => name ?? []);
}

export const SECRET_NAME: { readonly name: Field<string | undefined> } = {
  name: text("is the name of a Secret in the controller's namespace.", { default: "" }),
};
export const ATOMIC: JsonObject = { "x-kubernetes-map-type": "atomic" };

export function pullSecrets(description: string): Field<readonly Texts<"name">[]> {
  return { openApi: { type: "array", items: { ...schemaOf(SECRET_NAME), ...ATOMIC }, description } };
}

export function pullPolicy(description: string): Field<"Always" | "IfNotPresent" | "Never" | undefined> {
  return choice(description, ["Always", "IfNotPresent", "Never"], { default: "IfNotPresent" });
}

/** A reference to a DeploymentRuntimeConfig. @param more `DEFAULT_CONFIG` for the default of Crossplane */
export function runtimeConfigReference(description: string, more?: JsonObject): Field<Texts<"name"> & View> {
  const fields = {
    apiVersion: text("is the object's API version.", { default: "pkg.crossplane.io/v1beta1" }),
    kind: text("is the object's kind.", { default: "DeploymentRuntimeConfig" }),
    "name!": text("is the name of the DeploymentRuntimeConfig."),
  };
  return record(description, fields, more);
}

export const DEFAULT_CONFIG: JsonObject = { default: { name: "default" } };
