import { checkComposition, documentOf } from "@xfn/composition";
import { isObject, type JsonObject } from "@xfn/json";
import type { Adapter } from "../adapter.ts";
import { recorded, type VectorCase } from "../vector-file.ts";
import { reconciles } from "./reconcile.ts";

/** Compositions: the group `validation` checks them, other groups reconcile an XR. */
export const functionioMerge: Adapter = {
  run: (vector) => adapterOf(vector).run(vector),
  expected: (vector) => adapterOf(vector).expected?.(vector) ?? recorded(vector),
  normalize: (output, vector) => adapterOf(vector).normalize?.(output, vector) ?? output,
};

function adapterOf({ group }: VectorCase): Adapter {
  return group === "validation" ? validation : reconciles;
}

/** Validates a Composition's spec, and returns the invalid fields. */
const validation: Adapter = {
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
    const errors = findings.filter((finding) => finding.severity === "error").map((finding) => finding.path);
    return { valid: errors.length === 0, errors: fields(firstOfEach(errors)) };
  },
  normalize: (output) => {
    if (!isObject(output) || !Array.isArray(output["errors"])) return output;
    const paths = output["errors"].map((error) => (isObject(error) ? String(error["field"]) : String(error)));
    return { ...output, errors: fields(paths) };
  },
};

const ONE_ERROR_EACH = /\.(?:patches|readinessChecks)\[\d+\]/;

/** The reference reports the first error of each patch and readiness check. We report all, in the same order. */
function firstOfEach(errors: readonly string[]): string[] {
  const seen = new Set<string>();
  return errors.filter((path) => {
    const found = ONE_ERROR_EACH.exec(path);
    if (found === null) return true;
    const one = path.slice(0, found.index + found[0].length);
    return !seen.has(one) && seen.add(one);
  });
}

function fields(paths: readonly string[]): string[] {
  return [...new Set(paths)].toSorted();
}
