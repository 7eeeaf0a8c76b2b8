import { formatCheck } from "../../schema/structural/formats.ts";
import { FORMAT, type Type } from "../values/type.ts";
import { Extension, List, Optional } from "../values/value.ts";
import type { Define } from "./define.ts";

/** A named format in an expression. */
export class Format extends Extension {
  readonly type: Type = FORMAT;
  readonly name: string;
  /** The length of its regular expression, which decides the cost of `validate`. */
  readonly patternLength: number;
  /** Returns the problems of a text; none if it is valid. */
  readonly problems: (text: string) => string[];

  constructor(name: string, patternLength: number, problems: (text: string) => string[]) {
    super();
    this.name = name;
    this.patternLength = patternLength;
    this.problems = problems;
  }

  equals(other: Extension): boolean {
    return other instanceof Format && this.name === other.name;
  }
}

interface Rule {
  readonly pattern: RegExp;
  readonly length: number;
  readonly message: string;
}

const LABEL: Rule = {
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  length: 63,
  message: "must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric one",
};
const SUBDOMAIN: Rule = {
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  length: 253,
  message: "must consist of labels of lower case alphanumeric characters or '-', separated by dots",
};
const OLD_LABEL: Rule = {
  pattern: /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
  length: 63,
  message: "must consist of lower case alphanumeric characters or '-', and must start with a letter",
};
const NAME: Rule = {
  pattern: /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/,
  length: 63,
  message: "name part must consist of alphanumeric characters, '-', '_' or '.'",
};
const LABEL_VALUE: Rule = {
  pattern: /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/,
  length: 63,
  message: "must be empty, or consist of alphanumeric characters, '-', '_' or '.'",
};

function check({ pattern, length, message }: Rule, text: string): string[] {
  const problems = pattern.test(text) ? [] : [message];
  return Buffer.byteLength(text) > length ? [`must be no more than ${length} bytes`, ...problems] : problems;
}

/** The beginning of a name may end with a dash. */
function prefix(text: string): string {
  return text.length > 1 && text.endsWith("-") ? `${text.slice(0, -2)}a` : text;
}

function qualifiedName(text: string): string[] {
  const parts = text.split("/");
  if (parts.length > 2) return [NAME.message];
  const name = parts.at(-1) ?? "";
  const problems = name === "" ? ["name part must be non-empty"] : [];
  if (parts.length === 2) {
    problems.unshift(...(parts[0] === "" ? ["prefix part must be non-empty"] : check(SUBDOMAIN, parts[0] ?? "")));
  }
  return [...problems, ...check(NAME, name)];
}

const ofSchema =
  (format: string, message: string) =>
  (text: string): string[] =>
    formatCheck(format)?.(text) === true ? [] : [message];

const FORMATS: ReadonlyMap<string, Format> = new Map(
  [
    new Format("dns1123Label", 30, (text) => check(LABEL, text)),
    new Format("dns1123Subdomain", 60, (text) => check(SUBDOMAIN, text)),
    new Format("dns1035Label", 30, (text) => check(OLD_LABEL, text)),
    new Format("qualifiedName", 60, qualifiedName),
    new Format("dns1123LabelPrefix", 30, (text) => check(LABEL, prefix(text))),
    new Format("dns1123SubdomainPrefix", 60, (text) => check(SUBDOMAIN, prefix(text))),
    new Format("dns1035LabelPrefix", 30, (text) => check(OLD_LABEL, prefix(text))),
    new Format("labelValue", 40, (text) => check(LABEL_VALUE, text)),
    new Format("uri", 1500, ofSchema("uri", "is not a URI")),
    new Format("uuid", 90, ofSchema("uuid", "does not match the UUID format")),
    new Format("byte", 90, ofSchema("byte", "invalid base64")),
    new Format("date", 110, ofSchema("date", "invalid date")),
    new Format("datetime", 110, ofSchema("datetime", "invalid datetime")),
  ].map((format) => [format.name, format]),
);

/** The format library: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-format-library */
export function defineNamedFormats(define: Define): void {
  for (const [name, format] of FORMATS) define(`format.${name}`, "() Format", () => format);
  define("format.named", "(string) optional<Format>", (name: string) => new Optional(FORMATS.get(name)));
  define("validate", "Format.(string) optional<list<string>>", ({ problems }: Format, text: string) => {
    const found = problems(text);
    return found.length === 0 ? Optional.NONE : new Optional(new List(found));
  });
}
