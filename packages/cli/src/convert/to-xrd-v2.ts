import type { YAMLMap } from "yaml";
import type { Problem } from "./problem.ts";
import { isFilled, mapAt, setText, take, textAt } from "./yaml-nodes.ts";

const V2 = "apiextensions.crossplane.io/v2";

/** Fields of v1 that v2 lacks, with the way out. */
const LEGACY_FIELDS: Readonly<Record<string, string>> = {
  claimNames: "XRs of v2 have no claims: with --scope Namespaced, users create the XR itself in their namespace",
  connectionSecretKeys: "XRs of v2 have no connection secret: compose a Secret",
};

/**
 * Converts a CompositeResourceDefinition of v1 to v2. Claims and connection secrets have no form there.
 *
 * @param root the document; changed in place
 */
export function toXrdV2(root: YAMLMap, scope: "Namespaced" | "Cluster"): Problem[] {
  const spec = mapAt(root, "spec");
  if (spec === undefined) return [{ at: ["spec"], message: "is missing" }];
  if (textAt(root, "apiVersion") === V2) return [{ at: ["apiVersion"], message: `is ${V2} already`, severity: "note" }];
  const problems: Problem[] = [];
  for (const [field, message] of Object.entries(LEGACY_FIELDS)) {
    if (isFilled(spec, field)) problems.push({ at: ["spec", field], message, severity: "loss" });
    take(spec, field);
  }
  // The default of claims' XRs; v2 has the field no more.
  take(spec, "defaultCompositeDeletePolicy");
  const given = textAt(spec, "scope");
  setText(root, "apiVersion", V2);
  if (given !== "Namespaced" && given !== "Cluster") setText(spec, "scope", scope);
  return problems;
}
