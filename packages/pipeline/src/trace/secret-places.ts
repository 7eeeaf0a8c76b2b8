import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";
import { float64Of, Hidden, type Masked, unmasked } from "./masked.ts";

// Which fields hold secrets, judged by where they are and what they are called. docs/trace.md tells users the same.

/** Told of each text that is hidden. `base64`: it is the `data` of a Secret, so that the secret is what it stands for. */
export type OnHidden = (text: string, base64: boolean) => void;

/** `Secret` itself, and custom kinds that end like it. */
const SECRET_KIND = /Secret$/;
const SECRET_LIST_KIND = /SecretList$/;

/** kubectl keeps a copy of the whole object, a Secret's data included, in this annotation. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** What of a connection detail says where its value comes from. Everything else in it is the value, or may be. */
const DETAIL_FIELDS: ReadonlySet<string> = new Set(["name", "type", "fromConnectionSecretKey", "fromFieldPath"]);

/** Ends of names whose values are secrets, in any spelling: `adminPassword`, `DB_PASSWORD`, `api-key`. */
const SECRET_NAME =
  /(password|passwd|passphrase|token|apikey|accesskey|secretkey|privatekey|signingkey|encryptionkey|credential|clientsecret|sharedsecret|kubeconfig|connectionstring)s?$/;

/** As a word of its own: `secret`, `SESSION_SECRET`. In `connectionSecret` it is the name of a Secret, which is none. */
const SECRET_WORD = /(^|[._-])secret$/i;

/** The value with every secret place in it hidden. */
export function maskPlaces(value: JsonValue, onHidden: OnHidden): Masked {
  return new Masking(onHidden).value(value);
}

/** Like {@link maskPlaces}, for a field of a name: `connectionDetails` for example. */
export function maskField(name: string, value: JsonValue, onHidden: OnHidden): Masked {
  return new Masking(onHidden).field(name, value);
}

function isSecretName(name: string): boolean {
  return SECRET_WORD.test(name) || SECRET_NAME.test(name.replace(/[^A-Za-z0-9]/g, "").toLowerCase());
}

class Masking {
  readonly #onHidden: OnHidden;

  constructor(onHidden: OnHidden) {
    this.#onHidden = onHidden;
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
    return isSecretName(name) ? this.#hideScalars(value) : this.value(value);
  }

  #object(object: JsonObject, inSecretList: boolean): Masked {
    const number = float64Of(object);
    if (number !== undefined) return number;
    const kind = textOf(object, "kind") ?? "";
    const isSecret = inSecretList || SECRET_KIND.test(kind);
    // An environment variable: `{name: DB_PASSWORD, value: ...}`.
    const hidesValue = isSecretName(textOf(object, "name") ?? textOf(object, "key") ?? "");
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

  #secrets(value: JsonValue): Masked {
    if (!Array.isArray(value)) return this.value(value);
    return value.map((item) => (isObject(item) ? this.#object(item, true) : this.value(item)));
  }

  #detail(detail: JsonValue): Masked {
    if (!isObject(detail)) return this.#hide(detail, false);
    return new Map(
      Object.entries(detail).map(([key, value]) => [
        key,
        DETAIL_FIELDS.has(key) && typeof value === "string" ? value : this.#hide(value, false),
      ]),
    );
  }

  /** The names of what is in a Secret are no secret, and tell whether it was set. */
  #hideFields(value: JsonValue, base64: boolean): Masked {
    if (!isObject(value)) return this.#hide(value, base64);
    return new Map(Object.entries(value).map(([key, field]) => [key, this.#hide(field, base64)]));
  }

  /** Below a secret name, an object refers to the secret more often than it holds it: `password: {secretKeyRef: ...}`. */
  #hideScalars(value: JsonValue): Masked {
    if (Array.isArray(value)) return value.map((item) => this.#hideScalars(item));
    if (typeof value === "object" || typeof value === "boolean" || value === "") return this.value(value);
    return this.#hide(value, false);
  }

  #hide(value: JsonValue, base64: boolean): Hidden {
    this.#tell(value, base64);
    return new Hidden(unmasked(value));
  }

  #tell(value: JsonValue, base64: boolean): void {
    if (typeof value === "string") this.#onHidden(value, base64);
    else if (Array.isArray(value)) for (const item of value) this.#tell(item, base64);
    else if (isObject(value)) for (const key of Object.keys(value)) this.#tell(value[key] as JsonValue, base64);
  }
}

function textOf(object: JsonObject, key: string): string | undefined {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return typeof value === "string" ? value : undefined;
}
