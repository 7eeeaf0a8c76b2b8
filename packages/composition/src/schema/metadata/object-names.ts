/** How Kubernetes checks names of a kind, in apimachinery's pkg/api/validation. */
export type NameRule = "subdomain" | "label" | "label1035" | "segment";

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_LABEL_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const MAX_LABEL = 63;
const MAX_SUBDOMAIN = 253;

const ALPHANUMERIC = "must start and end with an alphanumeric character";
const SUBDOMAIN_WORDS = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and ${ALPHANUMERIC}`;
const LABEL_WORDS = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and ${ALPHANUMERIC}`;
const LABEL_1035_WORDS =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";

/** The problems of an object's name, in Kubernetes' words. @param isPrefix whether it is a generateName */
export function nameProblems(name: string, rule: NameRule, isPrefix = false): string[] {
  if (rule === "segment") return segmentProblems(name, isPrefix);
  // A generated suffix follows a dash.
  const checked = isPrefix && name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name;
  switch (rule) {
    case "subdomain":
      return textProblems(checked, MAX_SUBDOMAIN, DNS_SUBDOMAIN, SUBDOMAIN_WORDS);
    case "label":
      return textProblems(checked, MAX_LABEL, DNS_LABEL, LABEL_WORDS);
    case "label1035":
      return textProblems(checked, MAX_LABEL, DNS_LABEL_1035, LABEL_1035_WORDS);
  }
}

/** The problems of the key of a label or annotation, or of a finalizer. */
export function qualifiedNameProblems(key: string): string[] {
  const [first = "", second, ...more] = key.split("/");
  if (more.length > 0) {
    return [
      `a qualified name ${qualifiedWords()} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = second ?? first;
  const prefix = second === undefined ? undefined : first;
  const problems: string[] = [];
  if (prefix === "") problems.push("prefix part must be non-empty");
  else if (prefix !== undefined)
    problems.push(
      ...textProblems(prefix, MAX_SUBDOMAIN, DNS_SUBDOMAIN, SUBDOMAIN_WORDS).map((one) => `prefix part ${one}`),
    );
  if (name === "") problems.push("name part must be non-empty");
  if (name.length > MAX_LABEL) problems.push(`name part must be no more than ${MAX_LABEL} characters`);
  else if (!QUALIFIED.test(name)) problems.push(`name part ${qualifiedWords()}`);
  return problems;
}

export function labelValueProblems(value: string): string[] {
  if (value.length > MAX_LABEL) return [`must be no more than ${MAX_LABEL} bytes`];
  return value === "" || QUALIFIED.test(value)
    ? []
    : [`a valid label must be an empty string or ${qualifiedWords("")}`];
}

function qualifiedWords(must = "must "): string {
  return `${must}consist of alphanumeric characters, '-', '_' or '.', and ${ALPHANUMERIC}`;
}

function segmentProblems(name: string, isPrefix: boolean): string[] {
  if (!isPrefix && (name === "." || name === "..")) return [`may not be '${name}'`];
  return ["/", "%"].filter((one) => name.includes(one)).map((one) => `may not contain '${one}'`);
}

function textProblems(text: string, most: number, pattern: RegExp, words: string): string[] {
  // Matching takes quadratic time for hostile texts, which this bounds.
  if (text.length > most) return [`must be no more than ${most} characters`];
  return pattern.test(text) ? [] : [words];
}
