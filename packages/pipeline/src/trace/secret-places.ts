import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { float64Of, Hidden, type Masked, unmasked } from "./masked.ts";

// Decides by position and name which fields contain secrets. docs/tasks/trace.md has the same rules for users.

/** Called for each hidden text. `base64`: it is the `data` of a Secret, so the secret is the decoded value. */
export type OnHidden = (text: string, base64: boolean) => void;

/** Receives the secrets, and lists exceptions from the rules. */
export interface MaskOptions {
  readonly onHidden: OnHidden;
  /** Names of fields, connection details and keys of Secrets whose values are not secret. */
  readonly publicNames?: ReadonlySet<string>;
}

/** `Secret` itself, and custom kinds whose name ends in it. */
const SECRET_KIND = /Secret$/;
const SECRET_LIST_KIND = /SecretList$/;

/** kubectl stores a copy of the whole object in this annotation, including a Secret's data. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** The fields of a connection detail that name its source. All other fields can contain the value. */
const DETAIL_FIELDS: ReadonlySet<string> = new Set(["name", "type", "fromConnectionSecretKey", "fromFieldPath"]);

/** Ends of names whose values are secrets, in any spelling: `adminPassword`, `DB_PASSWORD`, `api-key`. */
const SECRET_NAME =
  /(password|passwd|passphrase|token|apikey|accesskey|secretkey|privatekey|signingkey|encryptionkey|credential|clientsecret|sharedsecret|kubeconfig|connectionstring)s?$/;

/** A separate word: `secret`, `SESSION_SECRET`. In `connectionSecret` it is part of the name of a reference. */
const SECRET_WORD = /(^|[._-])secret$/i;

/** Hides every value at a secret position. */
export function maskPlaces(value: JsonValue, options: MaskOptions): Masked {
  return new Masking(options).value(value);
}

/** Like {@link maskPlaces}, for a field with a name, for example `connectionDetails`. */
export function maskField(name: string, value: JsonValue, options: MaskOptions): Masked {
  return new Masking(options).field(name, value);
}

function isSecretName(name: string): boolean {
  return SECRET_WORD.test(name) || SECRET_NAME.test(name.replace(/[^A-Za-z0-9]/g, "").toLowerCase());
}

class Masking {
  readonly #onHidden: OnHidden;
  readonly #publicNames: ReadonlySet<string>;

  constructor({ onHidden, publicNames = new Set() }: MaskOptions) {
    this.#onHidden = onHidden;
    this.#publicNames = publicNames;
  }

  value(value: JsonValue): Masked {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    return this.#object(value, false);
  }

  field(name: string, value: JsonValue): Masked {
    if (name === LAST_APPLIED) return new Hidden(unmasked(value));
    if (name === "stringData") return this.#hideFields(value, false);
    if (name === "connectionDetails" && Array.isArray(value)) return value.map((detail) => this.#detail(detail));
    return this.#isSecretName(name) ? this.#hideScalars(value) : this.value(value);
  }

  #object(object: JsonObject, inSecretList: boolean): Masked {
    const number = float64Of(object);
    if (number !== undefined) return number;
    const kind = textOf(object, "kind") ?? "";
    const isSecret = inSecretList || SECRET_KIND.test(kind);
    // An environment variable: `{name: DB_PASSWORD, value: ...}`.
    const hidesValue = this.#isSecretName(textOf(object, "name") ?? textOf(object, "key") ?? "");
    const masked = new Map<string, Masked>();
    for (const key of Object.keys(object)) {
      const value = object[key] as JsonValue;
      if (isSecret && key === "data") masked.set(key, this.#hideFields(value, true));
      else if (hidesValue && key === "value") masked.set(key, this.#hide(value, false));
      else if (key === "items" && SECRET_LIST_KIND.test(kind)) masked.set(key, this.#secrets(value));
      else masked.set(key, this.field(key, value));
    }
    return masked;
  }

  #isSecretName(name: string): boolean {
    return isSecretName(name) && !this.#publicNames.has(name);
  }

  #secrets(value: JsonValue): Masked {
    if (!Array.isArray(value)) return this.value(value);
    return value.map((item) => (isObject(item) ? this.#object(item, true) : this.value(item)));
  }

  #detail(detail: JsonValue): Masked {
    if (!isObject(detail)) return this.#hide(detail, false);
    if (this.#publicNames.has(textOf(detail, "name") ?? "")) return this.value(detail);
    return new Map(
      Object.entries(detail).map(([key, value]) => [
        key,
        DETAIL_FIELDS.has(key) && typeof value === "string" ? value : this.#hide(value, false),
      ]),
    );
  }

  /** The keys of a Secret are not secret, and they show whether a value was set. */
  #hideFields(value: JsonValue, base64: boolean): Masked {
    if (!isObject(value)) return this.#hide(value, base64);
    const masked = ([key, field]: [string, JsonValue]): [string, Masked] => [
      key,
      this.#publicNames.has(key) ? this.value(field) : this.#hide(field, base64),
    ];
    return new Map(Object.entries(value).map(masked));
  }

  /**
   * An object below a secret name usually refers to the secret instead of containing it: `password: {secretKeyRef:
   * ...}`.
   */
  #hideScalars(value: JsonValue): Masked {
    if (Array.isArray(value)) return value.map((item) => this.#hideScalars(item));
    if (typeof value === "object" || typeof value === "boolean" || value === "") return this.value(value);
    return this.#hide(value, false);
  }

  #hide(value: JsonValue, base64: boolean): Hidden {
    this.#report(value, base64);
    return new Hidden(unmasked(value));
  }

  #report(value: JsonValue, base64: boolean): void {
    if (typeof value === "string") this.#onHidden(value, base64);
    else if (Array.isArray(value)) for (const item of value) this.#report(item, base64);
    else if (isObject(value)) for (const key of Object.keys(value)) this.#report(value[key] as JsonValue, base64);
  }
}

function textOf(object: JsonObject, key: string): string | undefined {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return typeof value === "string" ? value : undefined;
}
