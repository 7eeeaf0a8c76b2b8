import type { JsonValue } from "@xfn/json";
import type { Random } from "../../sweep/random.ts";
import { isPlain, pick } from "./mutation.ts";

/** Prints a value as YAML, each part in a random style: block or flow, quotes, literal blocks, anchors, comments. */
export function printAnyYaml(value: JsonValue, next: Random): string {
  return `${pick(["", "---\n", "# a comment\n"], next)}${new Printer(next).block(value, 0)}`;
}

const PLAIN = /^[A-Za-z][A-Za-z0-9_./-]*$/;
/** Words that are not strings, in YAML 1.1 or in Kubernetes. */
const WORDS = /^(?:y|n|yes|no|on|off|true|false|null|nan|inf)$/i;

class Printer {
  readonly #next: Random;
  /** The anchors of objects and lists, by their JSON. */
  readonly #anchors = new Map<string, string>();

  constructor(next: Random) {
    this.#next = next;
  }

  /** A value of its own lines, which starts on a new one. */
  block(value: JsonValue, indent: number): string {
    const spaces = " ".repeat(indent);
    if (Array.isArray(value) && value.length > 0 && this.#next() < 0.9) {
      return value.map((item) => `${spaces}-${this.#after(item, indent + 2)}`).join("");
    }
    if (isPlain(value) && Object.keys(value).length > 0 && this.#next() < 0.9) {
      return Object.entries(value)
        .map(
          ([key, field]) =>
            `${spaces}${this.#key(key)}:${this.#after(field, indent + 1 + Math.floor(this.#next() * 3))}`,
        )
        .join("");
    }
    return `${spaces}${this.#flow(value)}\n`;
  }

  /** A value after `key:` or `-`. */
  #after(value: JsonValue, indent: number): string {
    const comment = pick(["", "", "", "  # : - {", "   "], this.#next) ?? "";
    if (typeof value === "string") return ` ${this.#string(value, indent, comment)}\n`;
    if (!isPlain(value) && !Array.isArray(value)) return ` ${this.#flow(value)}${comment}\n`;
    const json = JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? `${one}n` : one));
    const known = this.#anchors.get(json);
    if (known !== undefined && this.#next() < 0.7) return ` *${known}${comment}\n`;
    let anchor = "";
    if (json.length > 10 && known === undefined && this.#next() < 0.3) {
      anchor = `a${this.#anchors.size}`;
      this.#anchors.set(json, anchor);
      anchor = ` &${anchor}`;
    }
    const isEmpty = Object.keys(value).length === 0;
    if (isEmpty || this.#next() < 0.2) return `${anchor} ${this.#flow(value)}${comment}\n`;
    return `${anchor}${comment}\n${this.block(value, indent)}`;
  }

  #key(key: string): string {
    return PLAIN.test(key) && !WORDS.test(key) && this.#next() < 0.8 ? key : this.#quoted(key);
  }

  #string(text: string, indent: number, comment: string): string {
    if (/^[\x20-\x7e]+\n(?:[\x21-\x7e][\x20-\x7e]*\n)*$/.test(text) && !text.startsWith(" ") && this.#next() < 0.7) {
      const spaces = " ".repeat(Math.max(indent, 1));
      return `|\n${text
        .slice(0, -1)
        .split("\n")
        .map((line) => spaces + line)
        .join("\n")}`;
    }
    return `${this.#scalar(text)}${comment}`;
  }

  #scalar(text: string): string {
    return PLAIN.test(text) && !WORDS.test(text) && this.#next() < 0.6 ? text : this.#quoted(text);
  }

  #quoted(text: string): string {
    if (/^[\x20-\x7e]*$/.test(text) && this.#next() < 0.5) return `'${text.replaceAll("'", "''")}'`;
    return JSON.stringify(text);
  }

  #flow(value: JsonValue): string {
    const space = pick(["", " "], this.#next) ?? "";
    if (Array.isArray(value)) return `[${value.map((item) => this.#flow(item)).join(`,${space}`)}]`;
    if (isPlain(value)) {
      const fields = Object.entries(value).map(([key, field]) => `${this.#quoted(key)}: ${this.#flow(field)}`);
      return `{${space}${fields.join(", ")}${space}}`;
    }
    if (typeof value === "string") return this.#quoted(value);
    if (value === null) return pick(["null", "~", "Null"], this.#next) ?? "null";
    return String(value);
  }
}
