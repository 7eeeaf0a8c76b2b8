import { formatPath, type JsonPath } from "@xfn/functionio";
import { applySchemaDefaults } from "./default.ts";
import { allNodes, type SchemaNode } from "./node.ts";
import { pruneUnknown } from "./prune.ts";
import type { SchemaFinding } from "./schema-error.ts";
import { compileValidation } from "./validate.ts";

/**
 * Reports invalid defaults and patterns. An API server rejects a CRD with them.
 */
export function checkSchemaValues(root: SchemaNode): SchemaFinding[] {
  const findings: SchemaFinding[] = [];
  const validate = compileValidation(root, (finding) => findings.push(finding));
  for (const node of allNodes(root)) findings.push(...defaultFindings(node, validate));
  return findings;
}

/** Reports why the default of a schema itself, not those of its fields, is invalid. */
export function checkOwnDefault(root: SchemaNode): SchemaFinding[] {
  return defaultFindings(
    root,
    compileValidation(root, () => undefined),
  );
}

function defaultFindings(node: SchemaNode, validate: ReturnType<typeof compileValidation>): SchemaFinding[] {
  if (node.default === undefined) return [];
  const findings: SchemaFinding[] = [];
  // Defaults within the default are filled in before it is validated.
  const at: JsonPath = [...node.path, "default"];
  for (const issue of validate(applySchemaDefaults(node, node.default), node)) {
    findings.push({ path: formatPath(at), at, message: `is not valid for its own schema: ${describe(issue)}` });
  }
  for (const unknown of pruneUnknown(node, node.default).unknown) {
    const unknownPath: JsonPath = [...at, ...unknown];
    findings.push({ path: formatPath(unknownPath), at: unknownPath, message: "is no field of the schema" });
  }
  return findings;
}

function describe(issue: { path: string; message: string; reason: string }): string {
  return [issue.path, issue.message === "" ? `${issue.reason.toLowerCase()} value` : issue.message]
    .filter((part) => part !== "")
    .join(" ");
}
