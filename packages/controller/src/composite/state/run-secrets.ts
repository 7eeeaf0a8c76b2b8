import { type KubernetesObject, textsAt } from "@xfn/json";
import { SecretValues } from "@xfn/pipeline/trace";
import type { Condition } from "../../objects/conditions.ts";
import { isSecret } from "../../objects/kinds.ts";

/**
 * The values of all Secrets that a run received: credentials of steps, connection details, observed and required
 * Secrets. A function, a server or a webhook can quote each of them, so texts about the run are masked before users see
 * them.
 */
export class RunSecrets {
  /** The values in base64, so that equal ones are kept once. */
  readonly #values: Set<string> = new Set();
  readonly #names: Set<string> = new Set();
  /** Created for the first text: most runs have none, and a value has many forms. */
  #masks: SecretValues | undefined;

  add(value: Uint8Array | string): void {
    this.#masks = undefined;
    this.#values.add(Buffer.from(value).toString("base64"));
  }

  /** Adds the values of an object if it is a Secret, and its name, which messages show even if a value equals it. */
  addObject(object: KubernetesObject): void {
    const { apiVersion, kind, metadata = {} } = object;
    this.addNames([apiVersion, kind, metadata.name, metadata.namespace]);
    if (!isSecret(object)) return;
    for (const value of Object.values(textsAt(object, "data"))) this.add(Buffer.from(value, "base64"));
    for (const value of Object.values(textsAt(object, "stringData"))) this.add(value);
  }

  /** Adds names that messages show even if a value equals one of them. */
  addNames(names: readonly (string | undefined)[]): void {
    this.#masks = undefined;
    for (const name of names) if (name !== undefined) this.#names.add(name);
  }

  get values(): Uint8Array[] {
    return [...this.#values].map((value) => Buffer.from(value, "base64"));
  }

  /** A text with `(hidden)` in place of each value. */
  scrub(text: string): string {
    return this.#made.scrub(text);
  }

  /** Whether a text contains a value. */
  isIn(text: string): boolean {
    return this.#made.isIn(text);
  }

  /**
   * Conditions that a function set. Drops a condition whose type or reason contains a value: masking would make them
   * invalid.
   */
  scrubConditions<T extends Condition>(conditions: readonly T[]): T[] {
    return conditions
      .filter(({ type, reason }) => !this.isIn(type) && !this.isIn(reason))
      .map((one) => this.scrubMessage(one));
  }

  /** A condition with a masked message. */
  scrubMessage<T extends Condition>(condition: T): T {
    const { message } = condition;
    return message === undefined ? condition : { ...condition, message: this.scrub(message) };
  }

  /** Masks the message of an error in place, because its class decides how it is handled, and the log shows it. */
  scrubError(error: unknown): void {
    if (error instanceof Error) error.message = this.scrub(error.message);
  }

  get #made(): SecretValues {
    if (this.#masks !== undefined) return this.#masks;
    const masks = new SecretValues(this.#names);
    for (const value of this.values) masks.addKnown(value);
    return (this.#masks = masks);
  }
}
