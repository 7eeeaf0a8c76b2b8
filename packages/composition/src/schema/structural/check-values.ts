import type { JsonPath } from "@xfn/json";
import { applySchemaDefaults } from "./default.ts";
import type { SchemaNode } from "./node.ts";
import { pruneUnknown } from "./prune.ts";
import { Findings, type Report } from "./schema-error.ts";
import { compileValidation, type Validate } from "./validate.ts";

/** Reports invalid defaults and patterns. An API server rejects a CRD with them. */
export function checkSchemaValues(root: SchemaNode, report: Report): void {
  const validate = compileValidation(root, report);
  for (const node of checkedDefaults(root)) checkDefault(node, validate, report);
}

/** The schemas with defaults that an API server checks: it does not look into `additionalProperties`. */
export function checkedDefaults(root: SchemaNode): SchemaNode[] {
  const nodes = [root];
  for (let next = 0; next < nodes.length; next++) {
    const { properties, items } = nodes[next] as SchemaNode;
    nodes.push(...properties.values());
    if (items !== undefined) nodes.push(items);
  }
  return nodes.filter((node) => node.default !== undefined);
}

/** Whether the default of a schema itself, not those of its fields, is valid. */
export function isOwnDefaultValid(root: SchemaNode): boolean {
  const findings = new Findings();
  const validate = compileValidation(root, () => undefined);
  checkDefault(root, validate, findings.report);
  return findings.all.length === 0;
}

function checkDefault(node: SchemaNode, validate: Validate, report: Report): void {
  if (node.default === undefined) return;
  // Defaults within the default are filled in before it is validated.
  const at: JsonPath = [...node.path, "default"];
  for (const issue of validate(applySchemaDefaults(node, node.default), node)) {
    report(at, `is not valid for its own schema: ${describe(issue)}`);
  }
  for (const unknown of pruneUnknown(node, node.default).unknown) {
    report([...at, ...unknown], "is not a field of the schema");
  }
}

function describe(issue: { path: string; message: string; reason: string }): string {
  return [issue.path, issue.message === "" ? `${issue.reason.toLowerCase()} value` : issue.message]
    .filter((part) => part !== "")
    .join(" ");
}
