import type { JsonObject } from "@xfn/json";
import type { DefinitionScope, DefinitionSpec, DefinitionVersion, KindNames } from "./definition.ts";

// The spec of a CompositeResourceDefinition as its author writes it. Fields with a default may be absent.

/** The `spec` of a file that has been checked. */
export interface WrittenSpec
  extends Omit<DefinitionSpec, "names" | "scope" | "claimNames" | "versions" | "composedScope" | Defaulted> {
  names: WrittenNames;
  scope?: DefinitionScope;
  claimNames?: WrittenNames;
  connectionSecretKeys?: string[];
  defaultCompositeDeletePolicy?: DefinitionSpec["defaultCompositeDeletePolicy"];
  defaultCompositionUpdatePolicy?: DefinitionSpec["defaultCompositionUpdatePolicy"];
  versions: WrittenVersion[];
  conversion?: { strategy: "None" | "Webhook"; webhook?: JsonObject };
}

type Defaulted =
  | "connectionSecretKeys"
  | "defaultCompositeDeletePolicy"
  | "defaultCompositionUpdatePolicy"
  | "conversion";

/** The names of a kind. */
export interface WrittenNames extends Omit<KindNames, "shortNames" | "categories"> {
  shortNames?: string[];
  categories?: string[];
}

export interface WrittenVersion extends Omit<DefinitionVersion, "deprecated" | "additionalPrinterColumns"> {
  deprecated?: boolean;
  additionalPrinterColumns?: WrittenColumn[];
}

/** A column of `kubectl get`. An intersection for the reason that `functionio.ts` gives. */
export type WrittenColumn = JsonObject & {
  name: string;
  type: "integer" | "number" | "string" | "boolean" | "date";
  format?: string;
  description?: string;
  priority?: number | bigint;
  jsonPath: string;
};
