import { isObject, type JsonObject, type JsonValue, newObject } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { Hidden, type Masked } from "../trace/masked.ts";
import { maskPlaces } from "../trace/secret-places.ts";
import { SecretValues } from "../trace/secret-values.ts";
import { documentNames } from "./document-names.ts";

const MASK = /^\(secret \d{1,9}\)$/;

/** Whether a value is the mask of a secret, such as `(secret 3)`. */
export function isMask(value: JsonValue | undefined): value is string {
  return typeof value === "string" && MASK.test(value);
}

/**
 * Masks the secrets of a recording by the rules of traces. Equal values get equal masks. They are numbered in the order
 * of the documents, so a mask reveals nothing about its value.
 */
export class SecretMasks {
  readonly #secrets: SecretValues;
  readonly #places: ReadonlyMap<JsonObject, Masked>;
  /** The numbers of the masks, by the JSON of their values. */
  readonly #numbers: Map<string, number> = new Map();
  readonly #fixed: string | undefined;

  /**
   * @param documents all documents of the recording, because a secret of one can be in another one
   * @param publicNames names of fields, connection details and keys of Secrets whose values are not secret
   * @param tokens secrets that no document shows at a position of its own
   * @param fixed the mask of every value, in place of numbered ones
   */
  constructor(
    documents: readonly JsonObject[],
    publicNames: readonly string[] = [],
    tokens: Iterable<string | Uint8Array> = [],
    fixed?: string,
  ) {
    this.#fixed = fixed;
    this.#secrets = new SecretValues(documentNames(documents));
    for (const token of tokens) this.#secrets.addKnown(typeof token === "string" ? Buffer.from(token) : token);
    const onHidden = (text: string, base64: boolean): void => this.#secrets.add(text, base64);
    const options = { onHidden, publicNames: new Set(publicNames) };
    this.#places = new Map(documents.map((document) => [document, maskPlaces(document, options)]));
  }

  /** A document with masks in place of its secrets. @param document one of those of the constructor */
  mask(document: JsonObject): JsonObject {
    const places = this.#places.get(document);
    const masked = this.#redact(document, places && this.#secrets.mask(places));
    return isObject(masked) ? masked : newObject();
  }

  /** A text with `(hidden)` in place of each secret. */
  scrub(text: string): string {
    return this.#secrets.scrub(text);
  }

  #redact(value: JsonValue, masked: Masked | undefined): JsonValue {
    if (masked === undefined || masked instanceof Hidden) return this.#maskOf(value);
    // A text that looks like a mask would be taken for one, so it gets a mask too.
    if (typeof value === "string") return isMask(value) ? this.#maskOf(value) : value;
    if (Array.isArray(value))
      return value.map((item, index) => this.#redact(item, Array.isArray(masked) ? masked[index] : undefined));
    if (!isObject(value)) return value;
    const copy = newObject();
    for (const key of Object.keys(value))
      copy[key] = this.#redact(value[key] ?? null, masked instanceof Map ? masked.get(key) : undefined);
    return copy;
  }

  #maskOf(value: JsonValue): string {
    if (this.#fixed !== undefined) return this.#fixed;
    const key = printJson(value);
    const number = this.#numbers.get(key) ?? this.#numbers.size + 1;
    this.#numbers.set(key, number);
    return `(secret ${number})`;
  }
}
