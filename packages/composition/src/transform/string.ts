import type { StringTransform } from "../api/template.ts";
import { isObject, kindOf } from "../values/json.ts";
import type { CompiledTransform } from "./compiled.ts";
import { compileStringConvert } from "./string-convert.ts";
import { compileFormat, printed } from "./text/compile-format.ts";
import { joined } from "./text/go-string.ts";
import { boundedText } from "./text/limits.ts";
import { lazyRegexp, quoted } from "./text/regexp.ts";
import type { Fail } from "./text/transform-error.ts";

/** Makes a string of any value. All types but Format use the text that Go prints for it with `%v`. */
export function compileString(string: StringTransform, fail: Fail): CompiledTransform {
  switch (string.type ?? "Format") {
    case "Format":
      return compileFmt(string.fmt, fail);
    case "Convert":
      return compileStringConvert(string.convert, fail);
    case "TrimPrefix":
      return compileTrim(string.trim, fail, (text, trim) => (text.startsWith(trim) ? text.slice(trim.length) : text));
    case "TrimSuffix":
      return compileTrim(string.trim, fail, (text, trim) =>
        text.endsWith(trim) ? text.slice(0, text.length - trim.length) : text,
      );
    case "Regexp":
      return compileExtract(string.regexp, fail);
    case "Join":
      return compileJoin(string.join, fail);
    case "Replace":
      return compileReplace(string.replace, fail);
    default:
      return () =>
        fail("Config", "string.type must be Format, Convert, TrimPrefix, TrimSuffix, Regexp, Join or Replace");
  }
}

function compileFmt(fmt: string | undefined, fail: Fail): CompiledTransform {
  if (typeof fmt !== "string") return () => fail("Config", "string.fmt is missing");
  const format = compileFormat(fmt, fail);
  return (input) => format([input]);
}

function compileTrim(
  trim: string | undefined,
  fail: Fail,
  apply: (text: string, trim: string) => string,
): CompiledTransform {
  if (typeof trim !== "string") return () => fail("Config", "string.trim is missing");
  const wellFormed = trim.toWellFormed();
  return (input) => apply(printed(input, fail), wellFormed);
}

function compileExtract(regexp: StringTransform["regexp"], fail: Fail): CompiledTransform {
  if (!isObject(regexp)) return () => fail("Config", "string.regexp is missing");
  const group = regexp["group"] ?? 0;
  if (typeof group !== "number" || !Number.isInteger(group) || group < 0) {
    return () => fail("Config", "string.regexp.group must be an integer of at least 0");
  }
  const match = regexp["match"] ?? "";
  if (typeof match !== "string") return () => fail("Config", "string.regexp.match must be a string");
  const compiled = lazyRegexp(match, fail);
  const noMatch = `the regexp ${quoted(match)} does not match, or has no group ${group}`;
  return (input) => compiled().group(printed(input, fail), group) ?? fail("Input", noMatch);
}

function compileReplace(replace: StringTransform["replace"], fail: Fail): CompiledTransform {
  if (!isObject(replace)) return () => fail("Config", "string.replace is missing");
  const { search, replace: by = "" }: { search?: unknown; replace?: unknown } = replace;
  if (typeof search !== "string" || search === "")
    return () => fail("Config", "string.replace.search must be a text that is not empty");
  if (typeof by !== "string") return () => fail("Config", "string.replace.replace must be a string");
  const [old, between] = [search.toWellFormed(), by.toWellFormed()];
  return (input) => {
    const [first = "", ...rest] = printed(input, fail).split(old);
    let text = first;
    for (const part of rest) text = boundedText(text + between + part, fail);
    return joined(text);
  };
}

function compileJoin(join: StringTransform["join"], fail: Fail): CompiledTransform {
  if (!isObject(join)) return () => fail("Config", "string.join is missing");
  const separator = join["separator"] ?? "";
  if (typeof separator !== "string") return () => fail("Config", "string.join.separator must be a string");
  const between = separator.toWellFormed();
  return (input) => {
    if (!Array.isArray(input)) return fail("Input", `the input must be a list, not ${kindOf(input)}`);
    let text = "";
    for (const [i, item] of input.entries())
      text = boundedText(text + (i === 0 ? "" : between) + printed(item, fail), fail);
    return joined(text);
  };
}
