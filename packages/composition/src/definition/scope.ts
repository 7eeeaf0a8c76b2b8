import { type JsonObject, valueAt } from "@xfn/json";
import type { Layout } from "../api/machinery.ts";
import type { Definition, DefinitionScope } from "./definition.ts";

/** The scopes of a definition, by the API version in which its author writes it; the first is the default. */
export function scopesOf(apiVersion: unknown): readonly [DefinitionScope, ...DefinitionScope[]] {
  if (apiVersion === "apiextensions.crossplane.io/v2") return ["Namespaced", "Cluster"];
  return ["LegacyCluster", "Namespaced", "Cluster"];
}

/** The scope of a lowered definition. Returns the default for other values, which an unchecked definition may have. */
export function scopeOf(xrd: JsonObject): DefinitionScope {
  const scope = valueAt(xrd, "spec", "scope");
  // A stored LegacyCluster definition can be read in every version.
  if (scope === "Namespaced" || scope === "Cluster" || scope === "LegacyCluster") return scope;
  if (scope === "LegacyNamespaced" && xrd["kind"] === "ApplicationDefinition") return scope;
  return scopesOf(xrd["apiVersion"])[0];
}

/** The layout of XRs of a scope. */
export function layoutOf(scope: DefinitionScope): Layout {
  if (scope === "LegacyNamespaced") return { isLegacy: true, isPrivate: true };
  return { isLegacy: scope === "LegacyCluster" };
}

/** The layout of a definition's XRs. */
export function layoutOfDefinition({ kind, spec }: Pick<Definition, "kind" | "spec">): Layout {
  const claimField = claimFieldOf({ kind });
  return { ...layoutOf(spec.scope), ...(claimField === "requirementRef" && { claimField }) };
}

/** Whether XRs of a scope are namespaced. */
export function isNamespaced(scope: DefinitionScope): boolean {
  return scope === "Namespaced" || scope === "LegacyNamespaced";
}

/** The field of a composite's spec that names its claim, or its requirement. */
export function claimFieldOf({ kind }: { readonly kind?: unknown }): "claimRef" | "requirementRef" {
  return kind === "InfrastructureDefinition" ? "requirementRef" : "claimRef";
}
