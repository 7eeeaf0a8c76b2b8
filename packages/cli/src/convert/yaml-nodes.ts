import { Document, isMap, isNode, isScalar, isSeq, type Pair, Scalar, type YAMLMap, type YAMLSeq } from "yaml";

// Reads and changes the nodes of a YAML document. Nodes keep their comments and spelling, wherever they move.

/** The pair of a key. */
export function pairOf(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((pair) => keyOf(pair) === key);
}

/** The key of a pair. */
export function keyOf(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
}

/** The map below a key. */
export function mapAt(map: YAMLMap, key: string): YAMLMap | undefined {
  const value = pairOf(map, key)?.value;
  return isMap(value) ? value : undefined;
}

/** The list below a key. */
function listAt(map: YAMLMap, key: string): YAMLSeq | undefined {
  const value = pairOf(map, key)?.value;
  return isSeq(value) ? value : undefined;
}

/** The maps among the items of the list below a key, with their indexes. */
export function mapsIn(map: YAMLMap, key: string): readonly (readonly [number, YAMLMap])[] {
  return (listAt(map, key)?.items ?? []).flatMap((item, index) => (isMap(item) ? [[index, item] as const] : []));
}

/** The text below a key, else "". Documents are read without types, so that every scalar is a text. */
export function textAt(map: YAMLMap, key: string): string {
  const value = pairOf(map, key)?.value;
  return isScalar(value) && typeof value.value === "string" && !isNull(value) ? value.value : "";
}

function isNull(scalar: Scalar): boolean {
  return scalar.type === "PLAIN" && ["", "~", "null", "Null", "NULL"].includes(String(scalar.value));
}

/** Whether a key has a value other than null and an empty list or map. */
export function isFilled(map: YAMLMap, key: string): boolean {
  const value = pairOf(map, key)?.value;
  if (isMap(value) || isSeq(value)) return value.items.length > 0;
  return isScalar(value) ? !isNull(value) : isNode(value);
}

/** Removes the pair of a key, and returns it. */
export function take(map: YAMLMap, key: string): Pair | undefined {
  const index = map.items.findIndex((pair) => keyOf(pair) === key);
  return index < 0 ? undefined : map.items.splice(index, 1)[0];
}

/** Sets the text of a key, in its place if it exists. */
export function setText(map: YAMLMap, key: string, text: string): void {
  const pair = pairOf(map, key);
  if (pair !== undefined && isScalar(pair.value)) {
    pair.value.value = text;
    if (isNull(pair.value)) pair.value.type = "PLAIN";
  } else map.set(new Scalar(key), new Scalar(text));
}

/** A map of these fields: texts, nodes, and objects of such fields. */
export function mapOf(fields: Readonly<Record<string, unknown>>): YAMLMap {
  return new Document().createNode(fields) as YAMLMap;
}

/** Gives a pair another key. */
export function rename(pair: Pair, key: string): void {
  if (isScalar(pair.key)) pair.key.value = key;
  else pair.key = new Scalar(key);
}
