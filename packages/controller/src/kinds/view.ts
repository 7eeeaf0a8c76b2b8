import { isObject, type JsonObject, type JsonValue, listAt, objectAt, textAt, textsAt } from "@xfn/json";

/** The fields of an object, by getters. */
export interface View {
  /** The object, for what is written or compared as it is. */
  toJSON(): JsonObject;
}

/** Reads a value that nothing has checked yet. */
type Read = (value: JsonValue | undefined) => unknown;

/**
 * Compiles a schema to a reader. A value of another type counts as absent: then an object has no fields, a list and a
 * map no items, and every other value is undefined. Objects are read when a field is: the schemas of Compositions are
 * large, and most of their fields are never read here.
 */
export function readerOf(schema: JsonObject): Read {
  const { type, enum: choices } = schema;
  if (Array.isArray(choices)) return (value) => (choices.includes(value ?? null) ? value : undefined);
  switch (type) {
    case "string":
      return (value) => textAt(value);
    case "boolean":
      return (value) => (typeof value === "boolean" ? value : undefined);
    case "integer":
    case "number":
      return (value) => (typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined);
    case "array":
      return listReader(objectAt(schema, "items"));
    case "object":
      return objectReader(schema);
    default:
      return (value) => value;
  }
}

function listReader(items: JsonObject): Read {
  const read = readerOf(items);
  const isFitting = items["type"] === "object" ? isObject : (value: JsonValue) => read(value) !== undefined;
  return (value) => listAt(value).filter(isFitting).map(read);
}

function objectReader({ properties, additionalProperties }: JsonObject): Read {
  if (isObject(properties)) return recordReader(properties);
  return textAt(additionalProperties, "type") === "string" ? (value) => textsAt(value) : (value) => objectAt(value);
}

/** Getters on a prototype: a view is one small object, however many fields it has. */
function recordReader(properties: JsonObject): Read {
  class RecordView implements View {
    readonly #json: JsonObject;

    constructor(json: JsonObject) {
      this.#json = json;
    }

    toJSON(): JsonObject {
      return this.#json;
    }

    static {
      for (const [name, schema] of Object.entries(properties)) {
        let read: Read | undefined;
        Object.defineProperty(RecordView.prototype, name, {
          get(this: RecordView) {
            read ??= readerOf(schema as JsonObject);
            return read(Object.hasOwn(this.#json, name) ? this.#json[name] : undefined);
          },
        });
      }
    }
  }
  return (value) => new RecordView(isObject(value) ? value : {});
}
