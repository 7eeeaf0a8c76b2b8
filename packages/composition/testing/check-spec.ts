import { readDocuments } from "@xfn/json/document";
import type { CompositionSpec } from "../src/api/composition.ts";
import { checkComposition } from "../src/api/parse-composition.ts";
import type { Finding } from "../src/reader/composition-error.ts";

/** A Composition up to its spec. */
export const HEAD = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XDatabase}
`;

export interface CheckedSpec {
  spec: CompositionSpec | undefined;
  errors: string[];
  warnings: string[];
}

/** The findings of a Composition with this in its `spec`, as `PATH: CODE`. */
export function checkSpec(spec: string): CheckedSpec {
  const [document] = readDocuments(`${HEAD}${spec.replace(/^/gm, "  ")}\n`);
  if (document === undefined) throw new Error("no document");
  const { composition, findings } = checkComposition(document);
  const of = (severity: Finding["severity"]): string[] =>
    findings.filter((finding) => finding.severity === severity).map(({ path, code }) => `${path}: ${code}`);
  return { spec: composition?.spec, errors: of("error"), warnings: of("warning") };
}
