import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  ERROR,
  INT,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  TIMESTAMP,
  type Type,
  typeOf,
  UINT,
} from "./type.ts";
import {
  CelMap,
  CelObject,
  Duration,
  Extension,
  Failure,
  List,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./value.ts";

const LIST = listOf(DYN);
const MAP = mapOf(DYN, DYN);
const OPTIONAL = optionalOf(DYN);
const TYPE = typeOf(DYN);

/** The type of a value, without the types of items. */
export function typeOfValue(value: Value): Type {
  switch (typeof value) {
    case "string":
      return STRING;
    case "bigint":
      return INT;
    case "boolean":
      return BOOL;
    case "number":
      return DOUBLE;
    default:
  }
  if (value === null) return NULL;
  if (value instanceof List) return LIST;
  if (value instanceof CelMap) return MAP;
  if (value instanceof CelObject) return value.type ?? MAP;
  if (value instanceof Duration) return DURATION;
  if (value instanceof Timestamp) return TIMESTAMP;
  if (value instanceof Uint) return UINT;
  if (value instanceof Optional) return OPTIONAL;
  if (value instanceof TypeValue) return TYPE;
  if (value instanceof Uint8Array) return BYTES;
  if (value instanceof Extension) return value.type;
  return value instanceof Failure ? ERROR : DYN;
}

/** Whether a value can be an argument of a parameter's type. Checks only the first item of a list. */
export function fitsType(value: Value, type: Type): boolean {
  if (type.kind === "dyn" || type.kind === "param") return true;
  const found = typeOfValue(value);
  if (found.kind !== type.kind) return false;
  if (type.kind === "list") {
    const [item] = type.params;
    const first = (value as List).items[0];
    return item === undefined || first === undefined || fitsType(first, item);
  }
  return type.kind === "struct" || type.kind === "opaque" ? found.name === type.name : true;
}
