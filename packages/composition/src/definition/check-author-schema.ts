import type { JsonObject, JsonPath } from "@xfn/json";
import { closest } from "../reader/closest.ts";
import type { Findings } from "../reader/field-reader.ts";
import { checkStructure } from "../schema/structural/check-structure.ts";
import { checkSchemaValues } from "../schema/structural/check-values.ts";
import { schemaProps } from "../schema/structural/json-schema-props.ts";
import { allNodes, nodeOf, sizeProblem } from "../schema/structural/node.ts";
import { Findings as Problems } from "../schema/structural/schema-error.ts";
import { isObject } from "../values/json.ts";
import { KEPT_KEYWORDS, SHARED_KEYWORDS } from "./crd.ts";
import type { injectedFields } from "./injected-fields.ts";

type InjectedFields = ReturnType<typeof injectedFields>;

/** Receives the findings about a schema. */
export type SchemaFindings = Pick<Findings, "error" | "warning" | "errors">;

/** Checks the schema that an author gives for composite resources. */
export function checkAuthorSchema(
  schema: JsonObject,
  at: JsonPath,
  injected: InjectedFields,
  findings: SchemaFindings,
): void {
  const before = findings.errors;
  const tooLarge = sizeProblem(schema);
  if (tooLarge !== undefined) {
    findings.error("Invalid", at, tooLarge);
    return;
  }
  const decoded = schemaProps(schema, at, {
    wrong: (path, message) => findings.error("Invalid", path, message),
    unknown: (path, keyword, known) => {
      const meant = closest(keyword, known);
      const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
      findings.warning("Unknown", path, `is not a keyword of a schema and will be dropped${hint}`);
    },
  });
  // Further findings would only follow from those.
  if (findings.errors > before || !isObject(decoded)) return;
  const warn: Warn = (steps, message) => findings.warning("Ignored", [...at, ...steps], message);
  const node = nodeOf(withPartTypes(decoded, warn), at);
  warnDropped(decoded, injected, warn);
  for (const { intOrString, type, path } of allNodes(node)) {
    if (intOrString && type !== "")
      findings.warning("Ignored", [...path, "type"], "has no effect with x-kubernetes-int-or-string");
  }
  const problems = new Problems();
  checkStructure(node, problems.report);
  // Defaults of an invalid schema cannot be checked.
  if (problems.all.length === 0) checkSchemaValues(node, problems.report);
  for (const issue of problems.all) {
    if (isPartDefault(issue.at.slice(at.length)))
      findings.warning(
        "Ignored",
        issue.at,
        `${issue.message}; a default of spec or status is left out if it is invalid`,
      );
    else findings.error("Invalid", issue.at, issue.message);
  }
}

/** Whether a path leads into the default of spec or status as a whole. */
function isPartDefault([properties, part, keyword]: JsonPath): boolean {
  return properties === "properties" && (part === "spec" || part === "status") && keyword === "default";
}

/** Warns of a valid part of the schema. */
type Warn = (steps: readonly string[], message: string) => void;

/** Adds the type that spec and status have in the CRD, where the author gives none. */
function withPartTypes(decoded: JsonObject, warn: Warn): JsonObject {
  const { properties } = decoded;
  if (!isObject(properties)) return decoded;
  const typed: JsonObject = { ...properties };
  for (const name of ["spec", "status"]) {
    const part = typed[name];
    if (!isObject(part) || (part["type"] ?? "") !== "" || part["x-kubernetes-preserve-unknown-fields"] === true)
      continue;
    typed[name] = { ...part, type: "object" };
    warn(["properties", name, "type"], "is missing; object is assumed");
  }
  return { ...decoded, properties: typed };
}

/** Warns of keywords and fields of an author's schema that the CRD leaves out. */
function warnDropped(decoded: JsonObject, injected: InjectedFields, warn: Warn): void {
  for (const keyword of Object.keys(decoded)) {
    // The CRD has `required: [spec]` anyway.
    if (!["type", "description", "properties", "required"].includes(keyword)) {
      warn([keyword], "has no effect here; of the whole schema only spec and status are used");
    }
  }
  const properties = isObject(decoded["properties"]) ? decoded["properties"] : {};
  for (const name of Object.keys(properties)) {
    if (["apiVersion", "kind", "metadata"].includes(name)) continue;
    const part = properties[name];
    if (!["spec", "status"].includes(name)) {
      warn(["properties", name], "has no effect: composite resources have spec and status only");
    } else if (isObject(part)) {
      warnDroppedPart(warn, name, part, name === "status" ? injected.status : injected.spec);
    }
  }
}

function warnDroppedPart(warn: Warn, name: string, part: JsonObject, injected: Readonly<JsonObject>): void {
  for (const keyword of Object.keys(part)) {
    if (["type", "properties", ...SHARED_KEYWORDS, ...KEPT_KEYWORDS].includes(keyword)) continue;
    warn(["properties", name, keyword], "has no effect here, where fields are added to the schema");
  }
  for (const field of Object.keys(isObject(part["properties"]) ? part["properties"] : {})) {
    if (!Object.hasOwn(injected, field)) continue;
    warn(["properties", name, "properties", field], "has no effect: every composite resource has this field already");
  }
}
