import type { JsonObject, JsonValue } from "@xfn/json";
import { printYaml } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { oneLine } from "@xfn/program/terminal-text";
import type { colours } from "../terminal/colours.ts";
import type { FieldError, ResourceResult } from "./result.ts";

/** The output formats of results. */
export type OutputFormat = "text" | "json" | "yaml";

/** Options of {@link printResults}. */
export interface PrintOptions {
  readonly format: OutputFormat;
  /** Omits the lines of valid resources from text. JSON and YAML always have them. */
  readonly skipSuccess: boolean;
  /** Colours the text. Default: none. */
  readonly paint?: ReturnType<typeof colours>;
}

/** Formats results like `crossplane resource validate`. */
export function printResults(results: readonly ResourceResult[], options: PrintOptions): string {
  if (options.format === "text") return textLines(results, options).join("");
  const document: JsonObject = { summary: { ...summaryOf(results) }, resources: results.map(resultJson) };
  return options.format === "json" ? `${printJson(document, 2)}\n` : printYaml(document);
}

/** The counts at the end of a report. */
export interface Summary {
  readonly total: number;
  readonly valid: number;
  readonly invalid: number;
  readonly missingSchemas: number;
}

/** Counts results by status. */
export function summaryOf(results: readonly ResourceResult[]): Summary {
  const count = (status: ResourceResult["status"]): number =>
    results.filter((result) => result.status === status).length;
  return {
    total: results.length,
    valid: count("valid"),
    invalid: count("invalid"),
    missingSchemas: count("missingSchema"),
  };
}

function textLines(results: readonly ResourceResult[], { skipSuccess, paint }: PrintOptions): string[] {
  const lines: string[] = [];
  // Everything here comes from files; on a terminal it must not act.
  const print = (line: string): void => void lines.push(`${painted(oneLine(line), paint)}\n`);
  for (const result of results) {
    const kind = `${result.apiVersion}, Kind=${result.kind}`;
    for (const warning of result.warnings) print(`[!] ${kind}, ${result.name} : ${warning.message}${place(warning)}`);
    if (result.status === "missingSchema") print(`[!] could not find CRD/XRD for: ${kind}`);
    if (result.status === "valid" && !skipSuccess) print(`[✓] ${kind}, ${result.name} validated successfully`);
    for (const error of result.errors) {
      const what = error.type === "cel" ? "CEL validation error" : "schema validation error";
      print(`[x] ${what} ${kind}, ${result.name} : ${error.message}${place(error)}`);
    }
  }
  const { total, missingSchemas, valid, invalid } = summaryOf(results);
  print(
    `Total ${total} resources: ${missingSchemas} missing schemas, ${valid} success cases, ${invalid} failure cases`,
  );
  return lines;
}

/** The mark of a line in the colour of what it means. */
function painted(line: string, paint: PrintOptions["paint"]): string {
  if (paint === undefined) return line;
  const mark = line.slice(0, 3);
  const colour = { "[x]": paint.red, "[!]": paint.yellow, "[✓]": paint.green }[mark];
  return colour === undefined ? line : `${colour(mark)}${line.slice(3)}`;
}

function place({ source, line, column }: FieldError): string {
  if (source === undefined || line === undefined) return "";
  return ` (${source}:${line}${column === undefined ? "" : `:${column}`})`;
}

function resultJson({ errors, warnings, ...result }: ResourceResult): JsonValue {
  return {
    ...result,
    ...(errors.length > 0 && { errors: errors.map((error) => ({ ...error })) }),
    ...(warnings.length > 0 && { warnings: warnings.map((warning) => ({ ...warning })) }),
  };
}
