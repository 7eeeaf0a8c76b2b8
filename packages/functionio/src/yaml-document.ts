import { Composer, type CST, type Node, Parser } from "yaml";
import { DocumentError, type DocumentErrorCode, type Issue } from "./errors.ts";
import type { JsonPath, JsonValue } from "./json-value.ts";
import type { ResolvedLimits } from "./limits.ts";
import { formatBytes, type Position, positionAt } from "./text.ts";
import { convertYaml, nodeAt } from "./yaml-convert.ts";

/** One YAML document: its value, and where its parts stand in the text. */
export interface YamlDocument {
  value: JsonValue;
  positionOf(path: JsonPath): Position;
}

/**
 * Reads all documents of a YAML text as Kubernetes does (see `resolvePlain`). Empty documents are skipped.
 *
 * @throws {DocumentError} with every problem that was found
 */
export function readYaml(text: string, limits: ResolvedLimits, source: string | undefined): YamlDocument[] {
  if (text.length > limits.maxYamlBytes) {
    const message = `is YAML of more than ${formatBytes(limits.maxYamlBytes)}; write JSON, which has no such limit`;
    throw new DocumentError("TooLarge", [{ path: "", message }], source);
  }
  const tokens: CST.Token[] = [];
  for (const token of new Parser().parse(text)) {
    if (token.type === "document" && token.value !== undefined) checkDepth(token.value, text, limits, source);
    tokens.push(token);
  }
  // `failsafe` leaves every scalar a string: resolvePlain decides. Duplicate keys are found in convertYaml, because the
  // library compares each key with all others.
  const composer = new Composer({ schema: "failsafe", version: "1.1", uniqueKeys: false, strict: true, logLevel: "silent" });
  const documents: YamlDocument[] = [];
  const issues: Issue[] = [];
  let code: DocumentErrorCode | undefined;
  for (const document of composer.compose(tokens)) {
    if (document.errors.length > 0) {
      code ??= "Syntax";
      for (const error of document.errors) {
        issues.push({ path: "", message: lowerFirst(error.message), ...positionAt(text, error.pos[0]) });
      }
      continue;
    }
    const converted = convertYaml(document, limits);
    if (converted.code !== undefined) {
      code ??= converted.code;
      for (const { offset, ...issue } of converted.issues) issues.push({ ...issue, ...positionAt(text, offset) });
      continue;
    }
    const { value } = converted;
    if (value === null) continue;
    documents.push({
      value,
      positionOf: (path) => positionAt(text, nodeAt(document.contents as Node | null, path)),
    });
  }
  if (code !== undefined) throw new DocumentError(code, issues, source);
  return documents;
}

/** Composing is recursive, so the depth is bounded on the flat syntax tree first. */
function checkDepth(root: CST.Token, text: string, limits: ResolvedLimits, source: string | undefined): void {
  const pending: { token: CST.Token; depth: number }[] = [{ token: root, depth: 1 }];
  for (let top = pending.pop(); top !== undefined; top = pending.pop()) {
    const { token, depth } = top;
    if (!("items" in token)) continue;
    if (depth > limits.maxDepth) {
      const issue = { path: "", message: `is nested deeper than ${limits.maxDepth}`, ...positionAt(text, token.offset) };
      throw new DocumentError("TooDeep", [issue], source);
    }
    for (const { key, value } of token.items as { key?: CST.Token | null; value?: CST.Token }[]) {
      if (key && "items" in key) pending.push({ token: key, depth: depth + 1 });
      if (value && "items" in value) pending.push({ token: value, depth: depth + 1 });
    }
  }
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}
