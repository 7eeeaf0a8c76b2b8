import { type JsonObject, type JsonPath, type JsonValue, listAt, objectAt, textAt } from "@xfn/json";
import { closest } from "../../reader/closest.ts";
import { isObject } from "../../values/json.ts";
import { formatFieldPath, type SchemaIssue, type SchemaIssueReason } from "../structural/issue.ts";
import { labelValueProblems, type NameRule, nameProblems, qualifiedNameProblems } from "./object-names.ts";

/** The rules for the metadata of an object. */
export interface MetadataRules {
  /** Default: `subdomain`, as for the kinds of CRDs. */
  readonly name?: NameRule;
  /**
   * Whether the object is sent as it is, so that it needs a name or generateName, and the UIDs of its owners. Default:
   * true. Rendered resources get both later.
   */
  readonly isComplete?: boolean;
}

/** The size of all annotations of an object that Kubernetes accepts. */
const MAX_ANNOTATION_BYTES = 256 * 1024;
/** Bounds the report of a hostile object. */
const MAX_METADATA_ISSUES = 100;

type FieldType = "string" | "integer" | "boolean" | "texts" | "list";

/** The fields of ObjectMeta. */
const FIELDS: ReadonlyMap<string, FieldType> = new Map<string, FieldType>([
  ["name", "string"],
  ["generateName", "string"],
  ["namespace", "string"],
  ["selfLink", "string"],
  ["uid", "string"],
  ["resourceVersion", "string"],
  ["generation", "integer"],
  ["creationTimestamp", "string"],
  ["deletionTimestamp", "string"],
  ["deletionGracePeriodSeconds", "integer"],
  ["labels", "texts"],
  ["annotations", "texts"],
  ["ownerReferences", "list"],
  ["finalizers", "list"],
  ["managedFields", "list"],
]);

const OWNER_FIELDS: ReadonlyMap<string, FieldType> = new Map<string, FieldType>([
  ["apiVersion", "string"],
  ["kind", "string"],
  ["name", "string"],
  ["uid", "string"],
  ["controller", "boolean"],
  ["blockOwnerDeletion", "boolean"],
]);

/**
 * Checks an object's metadata as an API server does when the object is created: types, unknown fields, names, labels,
 * annotations, owners and finalizers (`ValidateObjectMeta` of apimachinery).
 */
export function checkMetadata(
  object: JsonObject,
  { name: rule = "subdomain", isComplete = true }: MetadataRules = {},
): SchemaIssue[] {
  const check = new MetadataCheck();
  const metadata = object["metadata"] ?? {};
  if (!isObject(metadata)) {
    check.type(["metadata"], "object", metadata);
    return check.issues;
  }
  const at = ["metadata"];
  check.fields(metadata, at, FIELDS);
  check.names(metadata, rule, isComplete);
  check.labels(metadata);
  check.annotations(metadata);
  check.owners(metadata, isComplete);
  check.finalizers(metadata);
  return check.issues;
}

class MetadataCheck {
  readonly issues: SchemaIssue[] = [];

  add(at: JsonPath, reason: SchemaIssueReason, message: string, value?: JsonValue): void {
    if (this.issues.length >= MAX_METADATA_ISSUES) return;
    this.issues.push({ path: formatFieldPath(at), at, reason, message, ...(value !== undefined && { value }) });
  }

  type(at: JsonPath, expected: string, value: JsonValue): void {
    this.add(at, "Type", `${formatFieldPath(at)} in body must be of type ${expected}`, typeName(value));
  }

  fields(object: JsonObject, at: JsonPath, known: ReadonlyMap<string, FieldType>): void {
    for (const [field, value] of Object.entries(object)) {
      const path = [...at, field];
      const type = known.get(field);
      if (type === undefined) this.#unknown(path, field, known);
      // An API server reads null as an absent field.
      else if (value === null) continue;
      else if (type === "texts") this.#texts(value, path);
      else if (type === "list") {
        if (!Array.isArray(value)) this.type(path, "array", value);
      } else if (!isOfType(value, type)) this.type(path, type, value);
    }
  }

  #unknown(path: JsonPath, field: string, known: ReadonlyMap<string, FieldType>): void {
    const meant = this.issues.length >= MAX_METADATA_ISSUES ? undefined : closest(field, known.keys());
    const quoted = JSON.stringify(field);
    this.add(
      path,
      "Invalid",
      `unknown field: ${quoted}${meant === undefined ? "" : `; did you mean ${meant}?`}`,
      field,
    );
  }

  #texts(value: JsonValue, path: JsonPath): void {
    if (!isObject(value)) return this.type(path, "object", value);
    for (const [key, text] of Object.entries(value))
      if (typeof text !== "string" && text !== null) this.type([...path, key], "string", text);
  }

  names(metadata: JsonObject, rule: NameRule, isComplete: boolean): void {
    const [name, prefix, namespace] = ["name", "generateName", "namespace"].map((field) => textAt(metadata, field));
    this.#name("generateName", prefix, rule, true);
    this.#name("name", name, rule, false);
    this.#name("namespace", namespace, "label", false);
    const missing = (metadata["name"] ?? "") === "" && (metadata["generateName"] ?? "") === "";
    if (isComplete && missing) this.add(["metadata", "name"], "Required", "name or generateName is required");
  }

  #name(field: string, text: string | undefined, rule: NameRule, isPrefix: boolean): void {
    if (text === undefined) return;
    for (const problem of nameProblems(text, rule, isPrefix)) this.add(["metadata", field], "Invalid", problem, text);
  }

  labels(metadata: JsonObject): void {
    for (const [key, value] of Object.entries(objectAt(metadata, "labels"))) {
      const at = ["metadata", "labels", key];
      for (const problem of qualifiedNameProblems(key)) this.add(at, "Invalid", problem, key);
      if (typeof value !== "string") continue;
      for (const problem of labelValueProblems(value)) this.add(at, "Invalid", problem, value);
    }
  }

  annotations(metadata: JsonObject): void {
    let bytes = 0;
    for (const [key, value] of Object.entries(objectAt(metadata, "annotations"))) {
      // The case of an annotation's key does not matter.
      for (const problem of qualifiedNameProblems(key.toLowerCase()))
        this.add(["metadata", "annotations", key], "Invalid", problem, key);
      bytes += utf8Length(key) + (typeof value === "string" ? utf8Length(value) : 0);
    }
    if (bytes > MAX_ANNOTATION_BYTES) {
      const message = `may not be more than ${MAX_ANNOTATION_BYTES} bytes`;
      this.add(["metadata", "annotations"], "TooLong", message);
    }
  }

  owners(metadata: JsonObject, isComplete: boolean): void {
    let controllers = 0;
    for (const [index, owner] of listAt(metadata, "ownerReferences").entries()) {
      const at = ["metadata", "ownerReferences", index];
      if (!isObject(owner)) {
        this.type(at, "object", owner);
        continue;
      }
      this.fields(owner, at, OWNER_FIELDS);
      for (const field of ["apiVersion", "kind", "name", ...(isComplete ? ["uid"] : [])])
        if ((owner[field] ?? "") === "") this.add([...at, field], "Required", "must not be empty");
      const apiVersion = textAt(owner, "apiVersion");
      if (apiVersion !== undefined && !/^(?:[^/]*\/)?[^/]+$/.test(apiVersion))
        this.add([...at, "apiVersion"], "Invalid", "version must not be empty", apiVersion);
      if (owner["apiVersion"] === "v1" && owner["kind"] === "Event")
        this.add(at, "Invalid", "v1, Kind=Event is disallowed from being an owner");
      if (owner["controller"] === true && ++controllers > 1)
        this.add([...at, "controller"], "Invalid", "Only one reference can have Controller set to true", true);
    }
  }

  finalizers(metadata: JsonObject): void {
    const finalizers = listAt(metadata, "finalizers");
    for (const [index, finalizer] of finalizers.entries()) {
      const at = ["metadata", "finalizers", index];
      if (typeof finalizer !== "string") this.type(at, "string", finalizer);
      else for (const problem of qualifiedNameProblems(finalizer)) this.add(at, "Invalid", problem, finalizer);
    }
    if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion"))
      this.add(["metadata", "finalizers"], "Invalid", "finalizer orphan and foregroundDeletion cannot be both set");
  }
}

const UTF8 = new TextEncoder();

function utf8Length(text: string): number {
  return UTF8.encode(text).length;
}

function isOfType(value: JsonValue, type: FieldType): boolean {
  if (type === "integer") return typeof value === "bigint" || Number.isInteger(value);
  return typeof value === type;
}

function typeName(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint" || Number.isInteger(value)) return "integer";
  return typeof value;
}
