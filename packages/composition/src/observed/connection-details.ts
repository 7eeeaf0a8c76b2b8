import { CodedError } from "@xfn/errors";
import type { ConnectionDetail } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import { FieldPathError, findFieldPath, parseFieldPath } from "../field-path/field-path.ts";
import { GoJsonError, printGoJson } from "../values/go-json.ts";

/**
 * A connection detail is invalid. The message never contains a value. `MissingName`: it has no name. `MissingField`:
 * it lacks the field that its type needs.
 */
export class ConnectionDetailError extends CodedError<"MissingName" | "MissingField"> {
  override readonly name = "ConnectionDetailError";
  /** The index of the detail. */
  readonly index: number;

  constructor(code: ConnectionDetailError["code"], index: number, message: string, options?: ErrorOptions) {
    super(code, `connectionDetails[${index}]: ${message}`, options);
    this.index = index;
  }
}

export interface ConnectionDetailSource {
  /** The details in order. A later detail wins over an earlier one of the same name. */
  details: readonly ConnectionDetail[];
  /** The composed resource, whose fields FromFieldPath reads. */
  resource: JsonObject | undefined;
  /** The composed resource's own connection secret, by key. */
  secret: ReadonlyMap<string, string>;
}

/**
 * Derives the connection details that a composite resource publishes from one composed resource.
 *
 * The default type depends on the fields: `value`, then `fromConnectionSecretKey`, then `fromFieldPath`. The default
 * name is the secret key. A missing key or field, which may appear later, is skipped. A field that is not a string
 * is published as Go's JSON, `null` included. As in Crossplane, unknown types are skipped.
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

/** An API server may return null for a field that is not set. */
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
 * Connection details by name. The values are secrets: only lookup and iteration return them. Printing, inspecting and
 * JSON show names only.
 */
export class ConnectionDetails implements Iterable<[name: string, value: string]> {
  readonly #values: Map<string, string>;

  constructor(entries: Iterable<readonly [name: string, value: string]> = []) {
    this.#values = new Map([...entries].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  }

  /** The number of details. */
  get size(): number {
    return this.#values.size;
  }

  /** The names, sorted. */
  get names(): string[] {
    return [...this.#values.keys()];
  }

  /** The value of a detail. */
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
