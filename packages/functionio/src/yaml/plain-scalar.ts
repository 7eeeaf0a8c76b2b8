/**
 * What an unquoted YAML scalar means to Kubernetes: YAML 1.1 booleans and numbers, as the API server's and kubectl's
 * reader (sigs.k8s.io/yaml) resolves them. Unlike full YAML 1.1 there are no timestamps and no base-60 numbers
 * (`22:22` stays a string), which that reader leaves out too.
 */
export function resolvePlain(text: string): null | boolean | number | bigint | string {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  const first = text.charCodeAt(0);
  // Numbers begin with a sign, a dot or a digit.
  if (first !== 0x2b && first !== 0x2d && first !== 0x2e && !(first >= 0x30 && first <= 0x39)) return text;
  const plain = first === 0x2e ? text : text.replaceAll("_", "");
  const integer = INTEGER.exec(plain);
  if (integer !== null) return toInteger(plain);
  if (FLOAT.test(plain)) {
    const number = Number(plain);
    // Beyond a double's range the reader sees a string: it may be an identifier such as 12e4567.
    return Number.isFinite(number) ? number : text;
  }
  return text;
}

const WORDS: ReadonlyMap<string, null | boolean | number> = new Map<string, null | boolean | number>([
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, Number.NaN] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Infinity] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, -Infinity] as const),
]);

// A leading 0 means octal; 08 and 09 are not octal, and fall through to FLOAT.
const INTEGER = /^[-+]?(?:0|[1-9][0-9]*|0[0-7]+|0[oO][0-7]+|0[xX][0-9a-fA-F]+|0[bB][01]+)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

function toInteger(plain: string): number | bigint {
  const negative = plain.startsWith("-");
  let digits = plain.replace(/^[-+]/, "");
  if (/^0[0-7]+$/.test(digits)) digits = `0o${digits.slice(1)}`;
  const magnitude = Number(digits);
  if (Number.isSafeInteger(magnitude)) return negative && magnitude !== 0 ? -magnitude : magnitude;
  const exact = BigInt(digits);
  return negative ? -exact : exact;
}
