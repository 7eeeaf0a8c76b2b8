import type { ConnectionDetail, JsonObject } from "@xfn/functionio";
import { FieldPathError, findFieldPath, parseFieldPath } from "../field-path/field-path.ts";
import { GoJsonError, printGoJson } from "../values/go-json.ts";

/** A connection detail that cannot be derived as it is written. The message never contains a value. */
export class ConnectionDetailError extends Error {
  override readonly name = "ConnectionDetailError";
  /** `MissingName`, or the field that the detail's type needs is not set: `MissingField`. */
  readonly code: "MissingName" | "MissingField";
  /** Which of the resource's details, from 0. */
  readonly index: number;
  readonly retryable = false;

  constructor(code: ConnectionDetailError["code"], index: number, message: string, options?: ErrorOptions) {
    super(`connectionDetails[${index}]: ${message}`, options);
    this.code = code;
    this.index = index;
  }
}

/** Where connection details come from. */
export interface ConnectionDetailSource {
  /** What is to be derived, in order: of two details with one name, the later wins. */
  details: readonly ConnectionDetail[];
  /** The composed resource; its fields are what FromFieldPath reads. */
  resource: JsonObject | undefined;
  /** The composed resource's own connection secret, by key. */
  secret: ReadonlyMap<string, string>;
}

/**
 * Derives the connection details that a composite resource publishes from one composed resource.
 *
 * The type is inferred where it is not given: `value`, then `fromConnectionSecretKey`, then `fromFieldPath`. The name
 * defaults to the secret key. What is not there yet (a key, a field) is left out; it may come later. A field that is
 * not a string is published as Go's JSON, `null` included. Types that do not exist are left out, as in Crossplane.
 *
 * @throws {ConnectionDetailError}
 */
export function extractConnectionDetails(source: ConnectionDetailSource): Map<string, string> {
  const extracted = new Map<string, string>();
  for (const [index, detail] of source.details.entries()) {
    const type = detail.type ?? inferredType(detail);
    const name = detail.name ?? (type === "FromConnectionSecretKey" ? detail.fromConnectionSecretKey : undefined);
    if (!isSet(name) || name === "") throw new ConnectionDetailError("MissingName", index, "name is missing");
    const value = derive(detail, type, source, index);
    if (value !== undefined) extracted.set(name, value);
  }
  return extracted;
}

function inferredType(detail: ConnectionDetail): string {
  if (isSet(detail.value)) return "FromValue";
  if (!isSet(detail.fromConnectionSecretKey) && isSet(detail.fromFieldPath)) return "FromFieldPath";
  return "FromConnectionSecretKey";
}

/** Null is what an API server may give for a field that is not set. */
function isSet(value: string | null | undefined): value is string {
  return value !== undefined && value !== null;
}

function derive(
  detail: ConnectionDetail,
  type: string,
  source: ConnectionDetailSource,
  index: number,
): string | undefined {
  const needed = (value: string | undefined, field: string): string => {
    if (isSet(value)) return value;
    throw new ConnectionDetailError("MissingField", index, `type ${type} needs ${field}`);
  };
  switch (type) {
    case "FromValue":
      return needed(detail.value, "value");
    case "FromConnectionSecretKey":
      return source.secret.get(needed(detail.fromConnectionSecretKey, "fromConnectionSecretKey"));
    case "FromFieldPath":
      return fromField(source.resource, needed(detail.fromFieldPath, "fromFieldPath"));
    default:
      return undefined;
  }
}

function fromField(resource: JsonObject | undefined, path: string): string | undefined {
  if (resource === undefined) return undefined;
  try {
    const value = findFieldPath(resource, parseFieldPath(path));
    return value === undefined || typeof value === "string" ? value : printGoJson(value);
  } catch (error) {
    if (error instanceof FieldPathError || error instanceof GoJsonError) return undefined;
    throw error;
  }
}

/**
 * Connection details by name. The values are secrets: they are given out by name or by iteration only, and do not
 * appear when the object is printed, inspected or turned into JSON.
 */
export class ConnectionDetails implements Iterable<[name: string, value: string]> {
  readonly #values: Map<string, string>;

  constructor(entries: Iterable<readonly [name: string, value: string]> = []) {
    this.#values = new Map([...entries].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  }

  /** How many there are. */
  get size(): number {
    return this.#values.size;
  }

  /** The names, sorted. */
  get names(): string[] {
    return [...this.#values.keys()];
  }

  /** The value of one. */
  get(name: string): string | undefined {
    return this.#values.get(name);
  }

  /** Names and values, sorted by name. */
  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.#values.entries();
  }

  /** The names alone. */
  toJSON(): { names: string[] } {
    return { names: this.names };
  }
}
