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
import { DocumentError } from "../text/document-error.ts";
import { notJson } from "../text/not-json.ts";
import { printJson } from "../text/print-json.ts";
import { escapeUnsafe, isUnsafe } from "../text/unsafe-text.ts";
import { formatPath, type JsonValue } from "../value/json-value.ts";
import { resolvePlain } from "./plain-scalar.ts";

/**
 * Prints a value as YAML for people, in the layout of `kubectl -o yaml`: two spaces, lists not indented under their
 * key, no line folding, blocks for texts of several lines, keys in their order. Texts that YAML 1.1 or 1.2 readers
 * would not read as text (`on`, `012`, `1e3`, `22:22`, `2001-01-01`) are quoted. Characters on which terminals act are
 * escaped. Integers beyond 2^53 are exact. Ends with a newline.
 *
 * @throws {DocumentError} NotJson for NaN, infinities and lone surrogates
 */
export function printYaml(value: JsonValue): string {
  const found = notJson(value);
  if (found !== undefined) {
    throw new DocumentError("NotJson", [{ path: formatPath(found.path), message: found.message }]);
  }
  const options = { schema: SCHEMA, seqNoIndent: true, lineWidth: -1, noRefs: true, scalarStyleRules: RULES };
  try {
    // The library ends the document after a block that keeps its empty lines, which our output does not need.
    return escapeUnsafe(dump(value, options).replace(/(?<=\n)\.\.\.\n$/, ""));
  } catch (error) {
    // The library's regular expressions overflow the stack for texts of several megabytes. JSON is YAML too.
    if (error instanceof RangeError) return `${printJson(value, 2)}\n`;
    throw error;
  }
}

/** The library's integers are only numbers, and print as `String` rounds them: 41538645226132408 as ...410. */
const EXACT_INTEGERS = defineScalarTag(intYaml11Tag.tagName, {
  ...intYaml11Tag,
  identify: (value) => typeof value === "bigint" || (Number.isInteger(value) && Math.abs(value as number) < 1e21),
  represent: (value) => BigInt(value as number | bigint).toString(),
});
const SCHEMA = DUMP_SCHEMA.withTags(EXACT_INTEGERS);
/** Texts that are not plain text to readers of YAML 1.1 or 1.2. */
const IMPLICIT = DUMP_SCHEMA.tags.filter((tag) => tag.nodeKind === "scalar").filter((tag) => tag.implicit);
const INVISIBLE = /[\xa0\ufeff\ufffe\uffff]/;

const RULES: readonly ScalarStyleRule[] = [
  (layout) => {
    const { isKey, node } = layout;
    if (node.tag !== strTag.tagName) return;
    // Only double quotes have escapes.
    if (isUnsafe(node.value)) layout.style = SCALAR_STYLE.DOUBLE_QUOTED;
    else if (node.value.includes("\n")) {
      // The default rules would quote every script that contains a tab.
      if (!isKey && /^\S/.test(node.value) && !INVISIBLE.test(node.value)) layout.style = SCALAR_STYLE.LITERAL_BLOCK;
    } else if (isMore(node.value)) layout.style = SCALAR_STYLE.DOUBLE_QUOTED;
    // The library ignores that the first key of a document is at the start of a line, where `---` ends it.
    else if (/^(?:---|\.\.\.)/.test(node.value)) layout.style = SCALAR_STYLE.SINGLE_QUOTED;
  },
  ...Object.values(DEFAULT_SCALAR_STYLE_RULES),
];

/** Whether a reader could read an unquoted text as another type. Such texts are double-quoted, as in kubectl. */
function isMore(text: string): boolean {
  if (typeof resolvePlain(text) !== "string" || /^[-+]?\._*$|^=$/.test(text)) return true;
  // Some readers (the npm package `yaml`) read an exponent alone, such as a commit's `e5`, as a number.
  if (/^[-+]?[0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+$/.test(text)) return true;
  return IMPLICIT.some((tag) => tag.resolve(text, false, tag.tagName) !== NOT_RESOLVED);
}
