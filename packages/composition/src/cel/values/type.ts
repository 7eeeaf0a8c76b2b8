import { visit } from "./visit.ts";

/** The kinds of types in expressions. `param` is a type variable of a function. */
export type Kind =
  | "dyn"
  | "error"
  | "null"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "duration"
  | "timestamp"
  | "list"
  | "map"
  | "struct"
  | "opaque"
  | "type"
  | "param";

/** A type of the language. */
export interface Type {
  readonly kind: Kind;
  /** Its name in messages. Structs and opaque types of one name are equal. */
  readonly name: string;
  readonly params: readonly Type[];
  /** The fields of a struct by their names in expressions. */
  readonly fields?: ReadonlyMap<string, Type>;
}

function simple(kind: Kind, name: string = kind): Type {
  return { kind, name, params: [] };
}

export const DYN: Type = simple("dyn");
export const ERROR: Type = simple("error", "!error!");
export const NULL: Type = simple("null", "null_type");
export const BOOL: Type = simple("bool");
export const INT: Type = simple("int");
export const UINT: Type = simple("uint");
export const DOUBLE: Type = simple("double");
export const STRING: Type = simple("string");
export const BYTES: Type = simple("bytes");
export const DURATION: Type = simple("duration", "google.protobuf.Duration");
export const TIMESTAMP: Type = simple("timestamp", "google.protobuf.Timestamp");

export function listOf(item: Type): Type {
  return { kind: "list", name: "list", params: [item] };
}

export function mapOf(key: Type, value: Type): Type {
  return { kind: "map", name: "map", params: [key, value] };
}

export function optionalOf(type: Type): Type {
  return { kind: "opaque", name: "optional_type", params: [type] };
}

/** The type of a type, such as that of the identifier `string`. */
export function typeOf(type: Type): Type {
  return { kind: "type", name: "type", params: [type] };
}

function opaque(name: string): Type {
  return { kind: "opaque", name, params: [] };
}

/** A type of Kubernetes without fields, such as a quantity. */
export function named(name: string): Type {
  return { kind: "struct", name, params: [] };
}

export function struct(name: string, fields: ReadonlyMap<string, Type>): Type {
  return { kind: "struct", name, params: [], fields };
}

export function param(name: string): Type {
  return { kind: "param", name, params: [] };
}

export const IP: Type = opaque("net.IP");
export const CIDR: Type = opaque("net.CIDR");
export const URL_TYPE: Type = named("kubernetes.URL");
export const QUANTITY: Type = named("kubernetes.Quantity");
export const SEMVER: Type = named("kubernetes.Semver");
export const FORMAT: Type = named("kubernetes.NamedFormat");

/** Whether two types are the same, type variables by their name. */
export function sameType(a: Type, b: Type): boolean {
  visit();
  return (
    a === b ||
    (a.kind === b.kind &&
      a.name === b.name &&
      a.params.length === b.params.length &&
      a.params.every((one, index) => sameType(one, b.params[index] as Type)))
  );
}

/** The type in an optional type. Undefined if the type is not optional. */
export function insideOptional(type: Type): Type | undefined {
  return type.kind === "opaque" && type.name === "optional_type" ? type.params[0] : undefined;
}

/** Prints a type as cel-go does. */
export function printType(type: Type): string {
  visit();
  switch (type.kind) {
    case "list":
    case "map":
      return `${type.name}(${type.params.map(printType).join(", ")})`;
    case "opaque":
      return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(printType).join(", ")})`;
    case "type":
      return type.params.length === 0 ? "type" : `type(${type.params.map(printType).join(", ")})`;
    case "null":
      return "null";
    default:
      return type.name;
  }
}
