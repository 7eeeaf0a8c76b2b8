import {
  DEFAULT_SCALAR_STYLE_RULES,
  DUMP_SCHEMA,
  defineScalarTag,
  dump,
  intYaml11Tag,
  NOT_RESOLVED,
  SCALAR_STYLE,
  type ScalarStyleRule,
  strTag,
} from "js-yaml";
import { DocumentError } from "../json/errors.ts";
import { formatPath, type JsonValue } from "../json/json-value.ts";
import { notJson } from "../json/not-json.ts";
import { printJson } from "../json/print-json.ts";
import { resolvePlain } from "./plain-scalar.ts";

/**
 * YAML text of a value for people, as `kubectl -o yaml` lays it out: two spaces, lists not indented under their key, no line
 * folding, text of several lines as a block; keys in their order. Text that YAML 1.1 or 1.2 readers would take for
 * something else (`on`, `012`, `1e3`, `22:22`, `2001-01-01`) is quoted. Integers beyond 2^53 are exact. Ends with a newline.
 *
 * @throws {DocumentError} NotJson, for NaN, infinities and half surrogate pairs
 */
export function printYaml(value: JsonValue): string {
  const found = notJson(value);
  if (found !== undefined) {
    throw new DocumentError("NotJson", [{ path: formatPath(found.path), message: found.message }]);
  }
  const options = { schema: SCHEMA, seqNoIndent: true, lineWidth: -1, noRefs: true, scalarStyleRules: RULES };
  try {
    // The library ends the document after a block that keeps its empty lines, which nothing that we print needs.
    return dump(value, options).replace(/(?<=\n)\.\.\.\n$/, "");
  } catch (error) {
    // Its regular expressions overflow the stack at a text of some megabytes. JSON is YAML too.
    if (error instanceof RangeError) return `${printJson(value, 2)}\n`;
    throw error;
  }
}

/** The library's integers are numbers only, and print as `String` rounds them: 41538645226132408 as ...410. */
const EXACT_INTEGERS = defineScalarTag(intYaml11Tag.tagName, {
  ...intYaml11Tag,
  identify: (value) => typeof value === "bigint" || (Number.isInteger(value) && Math.abs(value as number) < 1e21),
  represent: (value) => BigInt(value as number | bigint).toString(),
});
const SCHEMA = DUMP_SCHEMA.withTags(EXACT_INTEGERS);
/** All that is more than text to readers of YAML 1.1 or 1.2. */
const IMPLICIT = DUMP_SCHEMA.tags.filter((tag) => tag.nodeKind === "scalar").filter((tag) => tag.implicit);
const INVISIBLE = /[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]/;

const RULES: readonly ScalarStyleRule[] = [
  (layout) => {
    const { isKey, node } = layout;
    if (node.tag !== strTag.tagName) return;
    if (node.value.includes("\n")) {
      // The default rules would quote a script with a tab in it, however many lines it has.
      if (!isKey && /^\S/.test(node.value) && !INVISIBLE.test(node.value)) layout.style = SCALAR_STYLE.LITERAL_BLOCK;
    } else if (isMore(node.value)) layout.style = SCALAR_STYLE.DOUBLE_QUOTED;
    // The library forgets that the first key of a document is at the start of a line, where `---` ends it.
    else if (/^(?:---|\.\.\.)/.test(node.value)) layout.style = SCALAR_STYLE.SINGLE_QUOTED;
  },
  ...Object.values(DEFAULT_SCALAR_STYLE_RULES),
];

/** Whether a reader may take unquoted text for more than text. Such is double-quoted, as kubectl does it. */
function isMore(text: string): boolean {
  if (typeof resolvePlain(text) !== "string" || /^[-+]?\._*$|^=$/.test(text)) return true;
  // An exponent alone, such as a commit's `e5`, is a number to some readers (the npm package `yaml`).
  if (/^[-+]?[0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+$/.test(text)) return true;
  return IMPLICIT.some((tag) => tag.resolve(text, false, tag.tagName) !== NOT_RESOLVED);
}
