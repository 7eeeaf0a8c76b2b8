import { boolYaml11Tag, NOT_RESOLVED, nullYaml11Tag } from "js-yaml";

/**
 * Resolves an unquoted YAML scalar as Kubernetes does: YAML 1.1 booleans and numbers, as in the reader of the API
 * server and kubectl (sigs.k8s.io/yaml). No number schema of the library fits. That reader has no base-60 numbers and
 * no timestamps (`22:22` stays a string), but it has `0o17` and `1e3`, and integers must stay exact. NaN represents all
 * values without a JSON number: NaN and the infinities.
 */
export function resolvePlain(text: string): null | boolean | number | bigint | string {
  if (text.length <= LONGEST_WORD) {
    for (const tag of WORD_TAGS) {
      const word = tag.resolve(text, false, tag.tagName);
      if (word !== NOT_RESOLVED) return word;
    }
  }
  const first = text.charCodeAt(0);
  // Numbers start with a sign, a dot or a digit.
  if (first !== 0x2b && first !== 0x2d && first !== 0x2e && !(first >= 0x30 && first <= 0x39)) return text;
  if (NOT_FINITE.test(text)) return Number.NaN;
  const plain = first === 0x2e ? text : text.replaceAll("_", "");
  if (INTEGER.test(plain)) return toInteger(plain);
  if (!FLOAT.test(plain)) return text;
  const number = Number(plain);
  // The reader returns a string beyond a double's range, which can be an identifier such as 12e4567.
  return Number.isFinite(number) ? number : text;
}

const WORD_TAGS = [nullYaml11Tag, boolYaml11Tag] as const;
const LONGEST_WORD = "false".length;
const NOT_FINITE = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
// A leading 0 means octal. 08 and 09 are not octal, and fall through to FLOAT.
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
