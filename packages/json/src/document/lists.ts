import { isObject, type JsonObject, type JsonPath, type JsonValue } from "../value/json-value.ts";
import type { ParsedDocument } from "./read.ts";

/**
 * Replaces each list of objects (`v1 List`, `ConfigMapList`) by its items, as kubectl does: `kubectl get -o yaml`
 * prints such lists. Lists in lists are replaced too. An item without apiVersion and kind has those of a typed list.
 * Positions are those of the items in the text.
 */
export function unwrapLists(documents: readonly ParsedDocument[]): ParsedDocument[] {
  return documents.flatMap((document) => {
    const items = listItems(document);
    return items === undefined ? [document] : unwrapLists(items);
  });
}

/** The items of a list, see {@link unwrapLists}. Undefined for another document. */
export function listItems(document: ParsedDocument): ParsedDocument[] | undefined {
  const { value, source, positionsOf, unquotedAt } = document;
  if (!isList(value)) return undefined;
  const items = value.items ?? [];
  const inAll = positionsOf && positionsInAll(positionsOf, items.length);
  return items.map((item, index) => {
    const within = (path: JsonPath): JsonPath => ["items", index, ...path];
    return {
      value: withKind(item, value),
      source,
      positionOf: (path) => (inAll === undefined ? document.positionOf(within(path)) : inAll(path)[index]),
      ...(positionsOf && { positionsOf: (paths) => positionsOf(paths.map(within)) }),
      ...(unquotedAt && { unquotedAt: (path) => unquotedAt(within(path)) }),
    };
  });
}

type PositionsOf = NonNullable<ParsedDocument["positionsOf"]>;

/** Readers ask for the same few paths of all items, in the order of the items. */
const MAX_KEPT_PATHS = 8;

/**
 * The positions of a path in all items of a list. One walk over the text finds all of them. A walk for each of 10,000
 * items would take minutes.
 */
function positionsInAll(positionsOf: PositionsOf, count: number): (path: JsonPath) => ReturnType<PositionsOf> {
  const known = new Map<string, ReturnType<PositionsOf>>();
  return (path) => {
    const key = JSON.stringify(path);
    const found = known.get(key);
    if (found !== undefined) return found;
    const paths = Array.from({ length: count }, (_, index): JsonPath => ["items", index, ...path]);
    const positions = positionsOf(paths);
    const [oldest] = known.keys();
    if (known.size === MAX_KEPT_PATHS && oldest !== undefined) known.delete(oldest);
    known.set(key, positions);
    return positions;
  };
}

type List = JsonObject & { readonly kind: string; readonly items: readonly JsonValue[] | null };

/** Whether a value is a list. Objects of other kinds have a name; a list has none. */
function isList(value: JsonValue): value is List {
  if (!isObject(value) || typeof value["kind"] !== "string" || !value["kind"].endsWith("List")) return false;
  const { metadata, items } = value;
  if (isObject(metadata) && metadata["name"] !== undefined) return false;
  return Array.isArray(items) || items === null;
}

function withKind(item: JsonValue, { apiVersion, kind }: List): JsonValue {
  const itemKind = kind.slice(0, -"List".length);
  if (itemKind === "" || !isObject(item) || apiVersion === undefined) return item;
  if (item["kind"] !== undefined || item["apiVersion"] !== undefined) return item;
  return Object.setPrototypeOf({ apiVersion, kind: itemKind, ...item }, null) as JsonObject;
}
