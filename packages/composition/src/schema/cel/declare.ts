import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  STRING,
  struct,
  TIMESTAMP,
  type Type,
} from "../../cel/values/type.ts";
import { nodeOf, type SchemaNode } from "../structural/node.ts";
import { celName, isReserved } from "./property-name.ts";

// Like an API server: https://kubernetes.io/docs/reference/using-api/cel/#type-system-integration

/** The largest request of an API server, in bytes. */
const MAX_REQUEST = 3 * 1024 * 1024;

/** The type of a schema's values in expressions, and the sizes of its data. */
export interface Declared {
  readonly type: Type;
  /** The most characters, items or entries of a value. */
  readonly maxSize: number;
  /** The shortest JSON of a value in bytes. */
  readonly minBytes: number;
  readonly item?: Declared;
  readonly fields?: ReadonlyMap<string, Declared>;
}

// An API server counts no sizes for scalars, objects and keys of maps.
const NO_SIZE = 0;
const FLAG: Declared = { type: BOOL, maxSize: NO_SIZE, minBytes: 4 };
const DECIMAL: Declared = { type: DOUBLE, maxSize: NO_SIZE, minBytes: 1 };
const WHOLE: Declared = { type: INT, maxSize: NO_SIZE, minBytes: 1 };
const KEY: Declared = { type: STRING, maxSize: NO_SIZE, minBytes: 2 };

/** Declares the type of each schema. Undefined for schemas that expressions cannot read. */
export type Declare = (node: SchemaNode, isResource: boolean) => Declared | undefined;

/** Creates a {@link Declare} that declares each schema once. */
export function declarations(): Declare {
  const known = new Map<SchemaNode, Declared | undefined>();
  const declare: Declare = (node, isResource) => {
    if (known.has(node)) return known.get(node);
    const declared = declaredOf(node, isResource, (part) => declare(part, part.embedded));
    known.set(node, declared);
    return declared;
  };
  return declare;
}

function declaredOf(
  node: SchemaNode,
  isResource: boolean,
  declare: (part: SchemaNode) => Declared | undefined,
): Declared | undefined {
  if (node.intOrString) {
    const longest = numberOf(node, "maxLength");
    return { type: DYN, maxSize: longest === undefined ? MAX_REQUEST - 2 : longest * 4, minBytes: 1 };
  }
  switch (isResource ? "object" : node.type) {
    case "array": {
      const item = node.items && declare(node.items);
      if (item === undefined) return undefined;
      const maxSize = numberOf(node, "maxItems") ?? Math.floor((MAX_REQUEST - 2) / (item.minBytes + 1));
      return { type: listOf(item.type), maxSize, minBytes: 2, item };
    }
    case "object":
      return typeof node.additional === "object" && !isResource
        ? declaredMap(node, declare(node.additional))
        : declaredObject(node, isResource, declare);
    case "string":
      return declaredText(node);
    case "boolean":
      return FLAG;
    case "number":
      return DECIMAL;
    case "integer":
      return WHOLE;
    default:
      return undefined;
  }
}

function declaredMap(node: SchemaNode, item: Declared | undefined): Declared | undefined {
  if (item === undefined) return undefined;
  const maxSize = numberOf(node, "maxProperties") ?? Math.floor((MAX_REQUEST - 2) / (item.minBytes + 6));
  return { type: mapOf(STRING, item.type), maxSize, minBytes: 2, item };
}

function declaredObject(
  node: SchemaNode,
  isResource: boolean,
  declare: (part: SchemaNode) => Declared | undefined,
): Declared {
  const fields = new Map<string, Declared>();
  let minBytes = 2;
  for (const [name, property] of isResource ? withResourceFields(node) : node.properties) {
    const declared = declare(property);
    if (declared === undefined) continue;
    const field = celName(name);
    if (field !== undefined) fields.set(field, declared);
    if (node.required.includes(name) && property.default === undefined) minBytes += name.length + declared.minBytes + 4;
  }
  const types = new Map([...fields].map(([name, { type }]) => [name, type]));
  // Since Kubernetes 1.31, `self.namespace` is the same as `self.__namespace__`. Its size is not known by that name.
  for (const name of node.properties.keys()) {
    const type = isReserved(name) ? types.get(celName(name) ?? "") : undefined;
    if (type !== undefined) types.set(name, type);
  }
  // Two objects have one type only if they have one schema.
  const type = struct(`object ${node.path.join(".")}`, types);
  return { type, maxSize: NO_SIZE, minBytes, fields };
}

const TEXT: SchemaNode = nodeOf({ type: "string" }, []);
const METADATA: SchemaNode = nodeOf(
  { type: "object", properties: { name: { type: "string" }, generateName: { type: "string" } } },
  ["metadata"],
);

/** Rules at the root of a resource can read these fields, even if the schema does not declare them. */
export function withResourceFields({ properties }: SchemaNode): ReadonlyMap<string, SchemaNode> {
  return new Map([...properties, ["kind", TEXT], ["apiVersion", TEXT], ["metadata", METADATA]]);
}

/** The types of texts by their format. */
const FORMATS: ReadonlyMap<string, { readonly type: Type; readonly maxSize: number; readonly minBytes: number }> =
  new Map([
    ["duration", { type: DURATION, maxSize: 32, minBytes: 3 }],
    ["date", { type: TIMESTAMP, maxSize: 12, minBytes: 12 }],
    ["date-time", { type: TIMESTAMP, maxSize: 32, minBytes: 21 }],
  ]);

function declaredText(node: SchemaNode): Declared {
  const known = FORMATS.get(node.format);
  if (known !== undefined) return known;
  const longest = numberOf(node, "maxLength");
  if (node.format === "byte") return { type: BYTES, maxSize: longest ?? MAX_REQUEST - 2, minBytes: 2 };
  if (longest !== undefined) return { type: STRING, maxSize: longest * 4, minBytes: 2 };
  const choices = node.keywords["enum"];
  if (!Array.isArray(choices) || choices.length === 0) return { type: STRING, maxSize: MAX_REQUEST - 2, minBytes: 2 };
  const lengths = choices.map((choice) => (typeof choice === "string" ? Buffer.byteLength(choice) : 0));
  return { type: STRING, maxSize: Math.max(...lengths), minBytes: 2 };
}

function numberOf(node: SchemaNode, keyword: string): number | undefined {
  const value = node.keywords[keyword];
  return typeof value === "number" || typeof value === "bigint" ? Math.max(0, Number(value)) : undefined;
}

/** The largest size of the data at a path that starts at a variable. */
export function sizeAt(root: Declared, path: readonly string[]): number | undefined {
  let current: Declared | undefined = root;
  for (const step of path.slice(1)) {
    if (step === "@items" || step === "@values") current = current?.item;
    else if (step === "@keys") current = current?.item && current.type.kind === "map" ? KEY : undefined;
    else current = current?.fields?.get(step);
  }
  return current?.maxSize;
}
