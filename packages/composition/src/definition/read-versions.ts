import type { JsonObject } from "@xfn/functionio";
import { closest } from "../reader/closest.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import { checkStructure } from "../schema/structural/check-structure.ts";
import { checkSchemaValues } from "../schema/structural/check-values.ts";
import { schemaProps } from "../schema/structural/json-schema-props.ts";
import { nodeOf } from "../schema/structural/node.ts";
import { isObject } from "../values/json.ts";
import { KEPT_KEYWORDS, SHARED_KEYWORDS } from "./crd.ts";
import type { DefinitionVersion } from "./definition.ts";
import { CLAIM_SPEC_FIELDS, COMPOSITE_SPEC_FIELDS, STATUS_FIELDS } from "./injected-fields.ts";

const VERSION_NAME = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
const COLUMN_TYPES: readonly string[] = ["integer", "number", "string", "boolean", "date"];

/** The versions of a definition. */
export function readVersions(spec: FieldReader, offersClaim: boolean): DefinitionVersion[] {
  const versions: DefinitionVersion[] = [];
  const readers = spec.objects("versions");
  if (readers.length === 0) spec.required("versions", undefined, "at least one version");
  const given = spec.value("versions");
  if (Array.isArray(given) && given.length === 0) spec.error("Required", "versions", "is empty; give a version");
  const names = new Set<string>();
  for (const reader of readers) {
    const version = readVersion(reader, offersClaim);
    if (version === undefined) continue;
    if (names.has(version.name)) reader.error("Duplicate", "name", `there is a version ${version.name} already`);
    names.add(version.name);
    versions.push(version);
  }
  const referenceable = readers.filter((reader) => reader.value("referenceable") === true);
  if (readers.length > 0 && referenceable.length === 0) {
    spec.error("Invalid", "versions", "one of the versions must be referenceable");
  }
  for (const second of referenceable.slice(1)) {
    second.error("Invalid", "referenceable", "only one version can be; objects are stored in it");
  }
  return versions;
}

function readVersion(reader: FieldReader, offersClaim: boolean): DefinitionVersion | undefined {
  const name = reader.text("name", "the version, such as v1alpha1");
  if (name !== undefined && !VERSION_NAME.test(name)) {
    reader.error("Invalid", "name", "must be lower-case letters, digits and dashes, beginning with a letter");
  }
  const served = reader.boolean("served");
  const referenceable = reader.boolean("referenceable");
  reader.required("served", served, "true, if the API is to have this version");
  reader.required("referenceable", referenceable, "true, if compositions are written for this version");
  const deprecated = reader.boolean("deprecated") ?? false;
  const deprecationWarning = reader.string("deprecationWarning");
  if (deprecationWarning !== undefined && !deprecated) {
    reader.error("Invalid", "deprecationWarning", "is for versions with deprecated: true");
  }
  const columns = reader.objects("additionalPrinterColumns");
  for (const column of columns) checkColumn(column);
  const openAPIV3Schema = readSchemaField(reader, offersClaim);
  reader.warnUnknown();
  if (name === undefined || openAPIV3Schema === undefined) return undefined;
  return {
    name,
    served: served === true,
    referenceable: referenceable === true,
    deprecated,
    ...(deprecationWarning !== undefined && { deprecationWarning }),
    schema: { openAPIV3Schema },
    additionalPrinterColumns: columns.map((column) => column.json),
  };
}

function checkColumn(column: FieldReader): void {
  column.text("name", "the column's title");
  column.required("type", column.oneOf("type", COLUMN_TYPES), `one of ${COLUMN_TYPES.join(", ")}`);
  const path = column.text("jsonPath", "where the value is, such as .spec.size");
  if (path !== undefined && !path.startsWith(".")) column.error("Invalid", "jsonPath", "must begin with a dot");
  for (const field of ["format", "description"]) column.string(field);
  column.integer("priority");
  column.warnUnknown();
}

function readSchemaField(version: FieldReader, offersClaim: boolean): JsonObject | undefined {
  const holder = version.object("schema");
  version.required("schema", holder, "the schema of the composite resource");
  const schema = holder?.object("openAPIV3Schema");
  holder?.required("openAPIV3Schema", schema, "the schema of the composite resource");
  holder?.warnUnknown();
  if (schema === undefined) return undefined;
  checkAuthorSchema(schema, offersClaim);
  return schema.json;
}

function checkAuthorSchema(schema: FieldReader, offersClaim: boolean): void {
  const { findings } = schema;
  const before = findings.errors;
  const decoded = schemaProps(schema.json, schema.path, {
    wrong: (path, message) => findings.error("Invalid", path, message),
    unknown: (path, keyword, known) => {
      const meant = closest(keyword, known);
      const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
      findings.warning("Unknown", path, `is no keyword of a schema and will be dropped${hint}`);
    },
  });
  // Further findings would only follow from those.
  if (findings.errors > before || !isObject(decoded)) return;
  const node = nodeOf(decoded, schema.path);
  warnDropped(schema, decoded, offersClaim);
  const structure = checkStructure(node);
  // Whether a default fits a schema that is wrong itself says nothing.
  for (const { at, message } of structure.length > 0 ? structure : checkSchemaValues(node)) {
    findings.error("Invalid", at, message);
  }
}

/** Says what of an author's schema does not reach the CRD, though it is a proper schema. */
function warnDropped(schema: FieldReader, decoded: JsonObject, offersClaim: boolean): void {
  const warn = (steps: readonly string[], message: string): void => {
    schema.findings.warning("Ignored", [...schema.path, ...steps], message);
  };
  for (const keyword of Object.keys(decoded)) {
    // `required: [spec]` is what the CRD says anyway.
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
      warnDroppedPart(warn, name, part, offersClaim);
    }
  }
}

function warnDroppedPart(
  warn: (steps: readonly string[], message: string) => void,
  name: string,
  part: JsonObject,
  offersClaim: boolean,
): void {
  for (const keyword of Object.keys(part)) {
    if (["type", "properties", ...SHARED_KEYWORDS, ...KEPT_KEYWORDS].includes(keyword)) continue;
    warn(["properties", name, keyword], "has no effect here, where fields are added to the schema");
  }
  const injected =
    name === "status" ? STATUS_FIELDS : { ...COMPOSITE_SPEC_FIELDS, ...(offersClaim && CLAIM_SPEC_FIELDS) };
  for (const field of Object.keys(isObject(part["properties"]) ? part["properties"] : {})) {
    if (!Object.hasOwn(injected, field)) continue;
    warn(["properties", name, "properties", field], "has no effect: every composite resource has this field already");
  }
}
