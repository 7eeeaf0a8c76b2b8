import type { JsonPath, JsonValue } from "../value/json-value.ts";
import { DocumentError } from "./document-error.ts";
import type { ResolvedLimits } from "./limits.ts";
import { parseJson, positionsInJson } from "./parse-json.ts";
import { type Position, positionsIn } from "./text.ts";

/** One value of a stream, with the positions of its parts in the whole text. */
export interface StreamedJson {
  readonly value: JsonValue;
  positionsOf(paths: readonly JsonPath[]): Position[];
}

/**
 * Reads JSON objects that follow each other without a separator, as `jq` and `kubectl get -o json` in a loop print
 * them, and as kubectl reads them. The caller has checked the size and the number of values of the whole text. Each
 * object has the limit of depth, and the stream that of objects.
 *
 * @returns undefined for another text, which can be YAML
 * @throws {DocumentError} with positions in the whole text, once the first value shows that the text is a stream
 */
export function readJsonStream(
  text: string,
  limits: ResolvedLimits,
  source: string | undefined,
): StreamedJson[] | undefined {
  const values: StreamedJson[] = [];
  const positionOf = positionsIn(text);
  let end = 0;
  for (let start = nextValue(text, 0); start < text.length; start = nextValue(text, end)) {
    // `{a: 1}` before a `---` is one document of YAML.
    if (values.length === 1 && text[start] !== "{") return undefined;
    if (values.length === limits.maxStreamedObjects) {
      const message = `is one of more than ${limits.maxStreamedObjects} JSON objects in a row; make them the items of a List, or split the text`;
      throw new DocumentError("TooManyValues", [{ path: "", message, ...positionOf(start) }], source);
    }
    end = endOfObject(text, start);
    const part = text.slice(start, end);
    try {
      const value = parseJson(part, limits, source);
      values.push({
        value,
        positionsOf: (paths) => positionsInJson(part, paths, (offset) => positionOf(start + offset)),
      });
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      if (values.length === 0 && error.code === "Syntax") return undefined;
      // Parse once more with blanks in place of the earlier values: the error then has its position in the whole text.
      parseJson(text.slice(0, start).replace(/[^\n]/g, " ") + part, limits, source);
      throw error;
    }
  }
  return values;
}

function nextValue(text: string, from: number): number {
  SPACE.lastIndex = from;
  SPACE.test(text);
  return SPACE.lastIndex;
}

const SPACE = /[ \t\r\n]*/y;

/** The end of the object at `start`. The end of the text, if the value does not end or is not an object. */
function endOfObject(text: string, start: number): number {
  if (text[start] !== "{") return text.length;
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === "{" || character === "[") depth++;
    else if ((character === "}" || character === "]") && --depth === 0) return at + 1;
  }
  return text.length;
}

/** The offset of the quote that ends the string at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}
