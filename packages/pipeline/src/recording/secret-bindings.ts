import { isObject, type JsonValue, newObject } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { sorted } from "./plain-document.ts";
import { isMask } from "./secret-masks.ts";

/** The values that a replay has in place of a recording's masks. */
export class SecretBindings {
  readonly #values: Map<string, JsonValue> = new Map();

  /** The values so far. */
  get values(): Iterable<JsonValue> {
    return this.#values.values();
  }

  /**
   * Whether a value can be the one of a mask: the first value decides, or the mask itself, which an earlier step
   * returned.
   */
  agrees(mask: string, value: JsonValue): boolean {
    if (value === mask) return true;
    const known = this.#values.get(mask);
    if (known !== undefined) return printJson(sorted(known)) === printJson(sorted(value));
    this.#values.set(mask, value);
    return true;
  }

  /** A recorded document with the known values in place of their masks. Masks of other secrets stay. */
  restore(value: JsonValue): JsonValue {
    if (isMask(value)) return this.#values.get(value) ?? value;
    if (Array.isArray(value)) return value.map((item) => this.restore(item));
    if (!isObject(value)) return value;
    const copy = newObject();
    for (const key of Object.keys(value)) copy[key] = this.restore(value[key] ?? null);
    return copy;
  }
}
