import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from "yaml";
import type { DocumentErrorCode } from "./errors.ts";
import { formatPath, isObject, type JsonObject, type JsonPath, type JsonValue } from "./json-value.ts";
import { MAX_ISSUES, type ResolvedLimits } from "./limits.ts";
import { resolvePlain } from "./yaml-scalar.ts";

/** A problem in a YAML document, by offset. */
interface YamlIssue {
  path: string;
  message: string;
  offset: number;
}

/** The value of a document, or what is wrong with it. */
export type Converted =
  | { code: undefined; value: JsonValue }
  | { code: DocumentErrorCode; issues: YamlIssue[] };

/** Turns YAML nodes into JSON: aliases expanded within bounds, keys as text, no key twice. */
export function convertYaml(document: Document, limits: ResolvedLimits): Converted {
  const conversion = new Conversion(limits);
  try {
    const value = conversion.convert(document.contents as Node | null, []);
    const { code, issues } = conversion;
    return code === undefined ? { code, value } : { code, issues };
  } catch (error) {
    if (error !== STOP || conversion.code === undefined) throw error;
    return { code: conversion.code, issues: conversion.issues };
  }
}

const STOP = Symbol("too many issues, or a limit");
const MERGE = "<<";

class Conversion {
  code: DocumentErrorCode | undefined;
  readonly issues: YamlIssue[] = [];
  readonly #limits: ResolvedLimits;
  readonly #anchors = new Map<string, Node>();
  /** Nodes being expanded, to stop a node that contains itself. */
  readonly #open = new Set<Node>();
  #aliases = 0;
  #expanded = 0;
  /** How many aliases we are inside of: anchors are not read again there. */
  #within = 0;

  constructor(limits: ResolvedLimits) {
    this.#limits = limits;
  }

  convert(node: Node | null, path: (string | number)[]): JsonValue {
    if (node === null) return null;
    if (this.#within > 0 && ++this.#expanded > this.#limits.maxAliasValues) {
      this.#stop("TooManyAliases", node, path, `aliases expand to more than ${this.#limits.maxAliasValues} values`);
    }
    if (path.length > this.#limits.maxDepth) {
      this.#stop("TooDeep", node, path.slice(0, 8), `is nested deeper than ${this.#limits.maxDepth}`);
    }
    if (isAlias(node)) return this.#alias(node, path, (target) => this.convert(target, path));
    if (this.#within === 0 && node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return this.#scalar(node, path);
    this.#open.add(node);
    let value: JsonValue = null;
    if (isSeq(node)) {
      this.#checkTag(node, path, "seq");
      value = node.items.map((item, index) => {
        path.push(index);
        const child = this.convert(item as Node | null, path);
        path.pop();
        return child;
      });
    } else if (isMap(node)) {
      this.#checkTag(node, path, "map");
      value = this.#map(node, path);
    }
    this.#open.delete(node);
    return value;
  }

  #map(node: YAMLMap, path: (string | number)[]): JsonObject {
    const object = Object.setPrototypeOf({}, null) as JsonObject;
    const seen = new Set<string>();
    const merges: Node[] = [];
    for (const pair of node.items) {
      const keyNode = pair.key as Node | null;
      const valueNode = pair.value as Node | null;
      if (isScalar(keyNode) && keyNode.type === "PLAIN" && keyNode.source === MERGE && valueNode !== null) {
        merges.push(valueNode);
        continue;
      }
      const key = this.#key(keyNode, node, path);
      if (key === undefined) continue;
      path.push(key);
      if (seen.has(key)) this.#issue("DuplicateKey", keyNode ?? node, path, "occurs twice in one mapping");
      seen.add(key);
      object[key] = this.convert(valueNode, path);
      path.pop();
    }
    for (const merge of merges) this.#merge(merge, object, path);
    return object;
  }

  /** `<<: *base` or `<<: [*a, *b]`: fields that are not set here, the first base first. */
  #merge(node: Node, into: JsonObject, path: (string | number)[]): void {
    const value = this.convert(node, path);
    for (const base of Array.isArray(value) ? value : [value]) {
      if (!isObject(base)) {
        this.#issue("Invalid", node, path, "merge key `<<` needs a mapping or a list of mappings");
        continue;
      }
      for (const key in base) if (!(key in into)) into[key] = base[key] ?? null;
    }
  }

  /** JSON keys are strings: `8080:` and `on:` are kept as they are written. */
  #key(node: Node | null, parent: Node, path: (string | number)[]): string | undefined {
    if (isAlias(node)) {
      const value = this.#alias(node, path, (target) => (isScalar(target) ? String(target.value ?? "") : null));
      if (typeof value === "string") return value;
    } else if (isScalar(node)) {
      if (node.anchor !== undefined && this.#within === 0) this.#anchors.set(node.anchor, node);
      const text = String(node.value ?? "");
      if (node.type !== "PLAIN" || resolvePlain(text) !== null) return text;
      this.#issue("Invalid", node, path, "has a key without a name; quote it");
      return undefined;
    }
    this.#issue("Invalid", node ?? parent, path, "has a key that is not a string");
    return undefined;
  }

  #alias<T>(node: Alias, path: (string | number)[], use: (target: Node) => T): T | null {
    if (++this.#aliases > this.#limits.maxAliases) {
      this.#stop("TooManyAliases", node, path, `more than ${this.#limits.maxAliases} aliases`);
    }
    const target = this.#anchors.get(node.source);
    if (target === undefined) {
      this.#issue("Syntax", node, path, `alias *${node.source} has no anchor &${node.source} before it`);
      return null;
    }
    if (this.#open.has(target)) {
      this.#issue("Syntax", node, path, `alias *${node.source} stands inside its own anchor`);
      return null;
    }
    this.#within++;
    const value = use(target);
    this.#within--;
    return value;
  }

  #scalar(node: Scalar, path: (string | number)[]): JsonValue {
    const text = String(node.value ?? "");
    if (!text.isWellFormed()) this.#issue("NotJson", node, path, "contains half of a surrogate pair");
    const tag = node.tag === undefined ? undefined : shortTag(node.tag);
    if (tag === "str" || tag === "!") return text;
    if (tag === undefined && node.type !== "PLAIN") return text;
    const value = resolvePlain(text);
    if (tag !== undefined) {
      const number = typeof value === "number" || typeof value === "bigint";
      if (tag === "float" && number) return Number(value);
      if (tag === "int" && number && !(typeof value === "number" && !Number.isInteger(value))) return value;
      if (tag === "bool" && typeof value === "boolean") return value;
      if (tag === "null" && value === null) return value;
      this.#unsupported(node, path);
      return null;
    }
    if (typeof value === "number" && !Number.isFinite(value)) {
      this.#issue("NotJson", node, path, `${text} is not a number that JSON can carry; quote it if it is text`);
    }
    return value;
  }

  #checkTag(node: Node & { tag?: string }, path: (string | number)[], expected: string): void {
    if (node.tag !== undefined && shortTag(node.tag) !== expected) this.#unsupported(node, path);
  }

  #unsupported(node: Node & { tag?: string }, path: (string | number)[]): void {
    this.#issue("UnsupportedTag", node, path, `tag ${node.tag} does not fit here; only JSON's own types are supported`);
  }

  #issue(code: DocumentErrorCode, node: Node, path: JsonPath, message: string): void {
    this.code ??= code;
    this.issues.push({ path: formatPath(path), message, offset: node.range?.[0] ?? 0 });
    if (this.issues.length > MAX_ISSUES) throw STOP;
  }

  #stop(code: DocumentErrorCode, node: Node, path: JsonPath, message: string): never {
    this.#issue(code, node, path, message);
    throw STOP;
  }
}

function shortTag(tag: string): string {
  return tag.startsWith("tag:yaml.org,2002:") ? tag.slice("tag:yaml.org,2002:".length) : tag;
}

/** The offset of a path's key or list item, or of its nearest ancestor. */
export function nodeAt(root: Node | null, path: JsonPath): number {
  let node = root;
  let offset = root?.range?.[0] ?? 0;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === part);
      if (pair === undefined) break;
      offset = (pair.key as Scalar).range?.[0] ?? offset;
      node = pair.value as Node | null;
    } else if (isSeq(node) && typeof part === "number" && part < node.items.length) {
      node = node.items[part] as Node | null;
      offset = node?.range?.[0] ?? offset;
    } else break;
  }
  return offset;
}
