import { checkComposition, documentOf } from "@xfn/composition";
import { isObject, type JsonObject } from "@xfn/functionio";
import type { Adapter } from "../adapter.ts";

/** Validation of a Composition's spec: whether it is valid, and which fields are not. */
export const validation: Adapter = {
  skip: (vector) => (vector.group === "validation" ? undefined : "full reconciles: xfn-controller is not there yet"),
  run: (vector) => {
    const { findings } = checkComposition(
      documentOf({
        apiVersion: "apiextensions.crossplane.io/v1",
        kind: "Composition",
        metadata: { name: "vector" },
        spec: {
          compositeTypeRef: { apiVersion: "apps.acme.example/v1", kind: "XApp" },
          ...(vector["validate"] as JsonObject),
        },
      }),
    );
    const errors = findings.filter((finding) => finding.severity === "error");
    return { valid: errors.length === 0, errors: fields(errors.map((finding) => finding.path)) };
  },
  normalize: (output) => {
    if (!isObject(output) || !Array.isArray(output["errors"])) return output;
    const paths = output["errors"].map((error) => (isObject(error) ? String(error["field"]) : String(error)));
    return { ...output, errors: fields(paths) };
  },
};

function fields(paths: readonly string[]): string[] {
  return [...new Set(paths)].toSorted();
}
