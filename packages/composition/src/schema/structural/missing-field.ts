import type { FieldPath } from "../../field-path/field-path.ts";
import { nodeOfField, type SchemaNode } from "./node.ts";

/** A field that a schema does not have. */
export interface MissingField {
  /** The path of the object that lacks the field. */
  readonly within: FieldPath;
  readonly field: string;
  /** The fields of that object. Empty if the value there has no fields. */
  readonly known: readonly string[];
}

// The fields of every object, which schemas of CRDs do not describe.
const META_FIELDS: ReadonlySet<unknown> = new Set(["apiVersion", "kind", "metadata"]);

/** Finds the first field of a path that no object of the schema can have. Undefined if all may exist. */
export function findMissingField(root: SchemaNode, path: FieldPath): MissingField | undefined {
  let node: SchemaNode | undefined = root;
  for (const [index, segment] of path.entries()) {
    if (META_FIELDS.has(segment) && (index === 0 || node.embedded)) return undefined;
    const next: SchemaNode | "any" | undefined = stepOf(node, segment);
    if (next === "any") return undefined;
    if (next === undefined)
      return { within: path.slice(0, index), field: String(segment), known: [...node.properties.keys()] };
    node = next;
  }
  return undefined;
}

/** The type of the field at a path; "" if the schema specifies no type, or allows several. */
export function typeOfField(root: SchemaNode, path: FieldPath): string {
  let node: SchemaNode = root;
  for (const [index, segment] of path.entries()) {
    if (META_FIELDS.has(segment) && (index === 0 || node.embedded)) return typeInMetadata(path.slice(index));
    const next = stepOf(node, segment);
    if (next === "any" || next === undefined) return "";
    node = next;
  }
  return node.intOrString || node.nullable ? "" : node.type;
}

function typeInMetadata([first, second, ...more]: FieldPath): string {
  if (first !== "metadata") return second === undefined ? "string" : "";
  if (second === "labels" || second === "annotations") return more.length === 1 && more[0] !== "*" ? "string" : "";
  return ["name", "generateName", "namespace", "uid"].includes(String(second)) && more.length === 0 ? "string" : "";
}

/** The schema behind one step of a path; `any` if the schema allows any value there. */
function stepOf(node: SchemaNode, segment: string | number): SchemaNode | "any" | undefined {
  if (node.items !== undefined) return typeof segment === "number" || segment === "*" ? node.items : undefined;
  const field = nodeOfField(node, String(segment));
  if (field !== undefined) return field;
  // A wildcard stands for every field, which may have different schemas.
  if (segment === "*" && node.properties.size > 0) return "any";
  // An API server drops undeclared fields, unless the schema has no type, or retains or declares other fields.
  const isOpen = node.preserveUnknown || node.additional === true || (node.type === "" && node.properties.size === 0);
  return isOpen ? "any" : undefined;
}
