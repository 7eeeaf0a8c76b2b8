import type { StringTransform } from "../api/template.ts";
import { GoJsonError, printGoJson } from "../values/go-json.ts";
import type { GoValue } from "../values/go-value.ts";
import { lowerCase, upperCase } from "./case.ts";
import type { CompiledTransform } from "./compiled.ts";
import { printed } from "./text/compile-format.ts";
import { bytesOf, textOfBytes } from "./text/go-string.ts";
import { boundedText } from "./text/limits.ts";
import type { Fail } from "./text/transform-error.ts";

/** The operations of `string.convert`: case, base64, JSON and hashes. */
export function compileStringConvert(convert: StringTransform["convert"], fail: Fail): CompiledTransform {
  switch (convert) {
    case "ToUpper":
      return (input) => boundedText(upperCase(printed(input, fail)), fail);
    case "ToLower":
      return (input) => boundedText(lowerCase(printed(input, fail)), fail);
    case "ToBase64":
      return (input) => boundedText(Buffer.from(bytesOf(printed(input, fail))).toString("base64"), fail);
    case "FromBase64":
      return (input) =>
        fromBase64(printed(input, fail)) ??
        fail("Input", "the input is not base64 (the standard alphabet, with padding)");
    case "ToJson":
      return (input) => boundedText(json(input, fail), fail);
    case "ToSha1":
      return (input) => hash("sha1", input, fail);
    case "ToSha256":
      return (input) => hash("sha256", input, fail);
    case "ToSha512":
      return (input) => hash("sha512", input, fail);
    case undefined:
      return () => fail("Config", "string.convert is missing");
    default:
      return () =>
        fail(
          "Config",
          "string.convert must be ToUpper, ToLower, ToBase64, FromBase64, ToJson, ToSha1, ToSha256 or ToSha512",
        );
  }
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Decodes like Go's base64.StdEncoding: padding is required, line breaks are skipped. */
function fromBase64(text: string): string | undefined {
  const digits = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, "") : text;
  return BASE64.test(digits) ? textOfBytes(Buffer.from(digits, "base64")) : undefined;
}

/** Hashes the bytes of a string, or the JSON of any other value. */
function hash(algorithm: "sha1" | "sha256" | "sha512", input: GoValue, fail: Fail): string {
  const bytes = typeof input === "string" ? bytesOf(input) : json(input, fail);
  // Loading node:crypto takes longer than rendering a Composition without hashes.
  return process.getBuiltinModule("node:crypto").createHash(algorithm).update(bytes).digest("hex");
}

function json(input: GoValue, fail: Fail): string {
  try {
    return printGoJson(input);
  } catch (error) {
    if (error instanceof GoJsonError) return fail(error.code === "TooDeep" ? "Limit" : "Input", error.message);
    throw error;
  }
}
