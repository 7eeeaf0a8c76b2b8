import { checkComposition, type Finding } from "@xfn/composition";
import { checkDefinition } from "@xfn/composition/definition";
import { formatPath, isObject } from "@xfn/json";
import { listItems, type ParsedDocument, readDocuments, unwrapLists } from "@xfn/json/document";
import { isMap, isSeq, parseAllDocuments, Scalar, visit, type YAMLMap } from "yaml";
import { describeFinding } from "../input/composition-file.ts";
import type { Problem } from "./problem.ts";
import { type FunctionNames, toPipeline } from "./to-pipeline.ts";
import { toTemplates } from "./to-templates.ts";
import { toXrdV2 } from "./to-xrd-v2.ts";

/** The result of a conversion. */
export type Conversion =
  | { readonly to: "pipeline"; readonly names: FunctionNames }
  | { readonly to: "templates" }
  | { readonly to: "xrd-v2"; readonly scope: "Namespaced" | "Cluster" };

/** A problem with its place: `file:line:column: field: message`. */
export interface PlacedProblem {
  readonly line: string;
  /** Absent: the conversion fails. */
  readonly severity: "loss" | "note" | undefined;
}

export interface ConvertedText {
  readonly text: string;
  /** The number of documents of the kind that the conversion is for. */
  readonly converted: number;
  readonly problems: readonly PlacedProblem[];
}

const KINDS = { pipeline: "Composition", templates: "Composition", "xrd-v2": "CompositeResourceDefinition" } as const;

/**
 * Converts the Compositions or definitions of a YAML or JSON text, also those in lists. Other documents, comments and
 * the spelling of values stay as they are.
 *
 * @param source the name of the file, for problems
 * @throws DocumentError for a text that is neither YAML nor JSON
 */
export function convertText(text: string, source: string, conversion: Conversion): ConvertedText {
  const documents = readDocuments(text, { source });
  // Without types, `0644`, `yes` and large integers are printed as they are written.
  const nodes = parseAllDocuments(separated(text, documents), {
    schema: "failsafe",
    merge: false,
    keepSourceTokens: false,
  });
  const parsed = Array.isArray(nodes) ? nodes : [];
  const filled = parsed.filter(({ contents }) => contents !== null && !isEmpty(contents));
  const problems: PlacedProblem[] = [];
  let converted = 0;
  const objects = documents.flatMap((document, index) => objectsOf(document, filled[index]?.contents));
  for (const { document, root } of objects) {
    if (!isMap(root) || !isObject(document.value) || document.value["kind"] !== KINDS[conversion.to]) continue;
    converted++;
    const before = findingsOf(document, conversion);
    const invalid = before.filter(({ severity }) => severity === "error");
    const found = invalid.length > 0 ? [] : convertRoot(root, conversion);
    problems.push(...invalid.map((finding) => ({ line: describeFinding(source, finding), severity: undefined })));
    problems.push(...found.map((problem) => placed(document, problem)));
  }
  for (const { contents } of parsed) if (contents !== null) keepNulls(contents as YAMLMap);
  const options = {
    lineWidth: 0,
    indentSeq: !/^( *)[^\s#-][^\n]*:[ \t]*\n\1- /m.test(text),
    flowCollectionPadding: false,
  };
  const shown = filled.map((document) => document.toString(options));
  const result = shown.map((one, index) => (index === 0 || one.startsWith("---") ? one : `---\n${one}`)).join("");
  if (converted > 0 && problems.every(({ severity }) => severity !== undefined))
    problems.push(...problemsAfter(result, documents, conversion));
  return { text: result, converted, problems };
}

/** Puts `---` between JSON objects that follow each other without a separator. */
function separated(text: string, documents: readonly ParsedDocument[]): string {
  if (documents.length < 2 || !/^\s*\{/.test(text)) return text;
  const lines = text.split("\n");
  for (const document of documents.slice(1).toReversed()) {
    const { line, column } = document.positionOf([]) ?? { line: 1, column: 1 };
    const whole = lines[line - 1] ?? "";
    lines.splice(line - 1, 1, whole.slice(0, column - 1), "---", whole.slice(column - 1));
  }
  return lines.join("\n");
}

interface ConvertibleObject {
  readonly document: ParsedDocument;
  readonly root: unknown;
}

/** The object of a document, or those of a list, each with its node. */
function objectsOf(document: ParsedDocument, root: unknown): ConvertibleObject[] {
  const items = listItems(document);
  if (items === undefined) return [{ document, root }];
  const nodes = isMap(root) ? root.get("items") : undefined;
  return items.flatMap((item, index) => objectsOf(item, isSeq(nodes) ? nodes.items[index] : undefined));
}

function convertRoot(root: YAMLMap, conversion: Conversion): Problem[] {
  if (conversion.to === "pipeline") return toPipeline(root, conversion.names);
  if (conversion.to === "templates") return toTemplates(root);
  return toXrdV2(root, conversion.scope);
}

function findingsOf(document: ParsedDocument, { to }: Conversion): readonly Finding[] {
  return to === "xrd-v2" ? checkDefinition(document).findings : checkComposition(document).findings;
}

/** The problems of the result in its own form, such as a transform that only functions have. */
function problemsAfter(
  text: string,
  before: readonly ParsedDocument[],
  conversion: Conversion,
): readonly PlacedProblem[] {
  const after = unwrapLists(readDocuments(text));
  return unwrapLists(before).flatMap((document, index) => {
    const result = after[index];
    if (result === undefined || !isObject(document.value) || document.value["kind"] !== KINDS[conversion.to]) return [];
    const known = new Set(findingsOf(document, conversion).map(({ message }) => message));
    return findingsOf(result, conversion)
      .filter(({ message, severity, code }) => !known.has(message) && (severity === "error" || code !== "Ignored"))
      .map(({ path, message, severity }): PlacedProblem => {
        const problem = placed(document, { at: [], message: `the result has ${path}: ${message}` });
        return severity === "error" ? problem : { ...problem, severity: "note" };
      });
  });
}

function placed(document: ParsedDocument, { at, message, severity }: Problem): PlacedProblem {
  const { line, column } = document.positionOf(at) ?? {};
  const place = [document.source, line, column].filter((part) => part !== undefined).join(":");
  return { line: `${place}: ${at.length === 0 ? "" : `${formatPath(at)}: `}${message}`, severity };
}

function isEmpty(contents: unknown): boolean {
  return contents instanceof Scalar && ["", "null", "~"].includes(String(contents.value)) && contents.type === "PLAIN";
}

/** Without types, a value that is left out is an empty text, which would be printed with quotes. */
function keepNulls(root: YAMLMap): void {
  visit(root, {
    Scalar(_, node) {
      if (node.value === "" && node.type === "PLAIN") node.value = "null";
    },
  });
}
