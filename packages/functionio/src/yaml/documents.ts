import { DocumentError, type Issue } from "../errors.ts";
import type { JsonPath, JsonValue } from "../json-value.ts";
import type { ResolvedLimits } from "../limits.ts";
import { type Position, positionAt } from "../text.ts";
import { YamlFailure } from "./cursor.ts";
import { type Visitor, YamlReader } from "./reader.ts";

/** One YAML document: its value, and where its parts stand in the text. */
export interface YamlDocument {
  value: JsonValue;
  positionOf(path: JsonPath): Position;
}

/**
 * Reads all documents of a YAML text as Kubernetes does. Documents that are empty or null are skipped.
 *
 * @throws {DocumentError} with every problem that was found
 */
export function readYaml(input: string, limits: ResolvedLimits, source: string | undefined): YamlDocument[] {
  const text = input.includes("\r") ? input.replace(/\r\n?/g, "\n") : input;
  const control = /[\0-\x08\x0b\x0c\x0e-\x1f]/.exec(text);
  if (control !== null) {
    const code = control[0].charCodeAt(0).toString(16).padStart(2, "0");
    const issue = { path: "", message: `contains the control character 0x${code}`, ...positionAt(text, control.index) };
    throw new DocumentError("Syntax", [issue], source);
  }
  const reader = new YamlReader(text, limits);
  const documents: YamlDocument[] = [];
  try {
    for (let index = 0, document = reader.next(); document !== undefined; document = reader.next(), index++) {
      if (document.value === null) continue;
      const at = index;
      documents.push({ value: document.value, positionOf: (path) => positionAt(text, locate(text, limits, at, path)) });
    }
  } catch (error) {
    if (!(error instanceof YamlFailure)) throw error;
    reader.issues.push({ code: error.code, path: reader.path, message: error.message, offset: error.offset });
  }
  const [first] = reader.issues;
  if (first === undefined) return documents;
  // A syntax error is the reason for what follows it, not the other way round.
  const code = reader.issues.find((issue) => issue.code === "Syntax")?.code ?? first.code;
  const issues = reader.issues.map(
    ({ path, message, offset }): Issue => ({ path, message, ...positionAt(text, offset) }),
  );
  throw new DocumentError(code, issues, source);
}

/** Reads again up to the wanted path: positions are asked for rarely, and remembering them all would cost every reader. */
function locate(text: string, limits: ResolvedLimits, index: number, wanted: JsonPath): number {
  let best = 0;
  let depth = -1;
  let current = 0;
  const visit: Visitor = (path, offset) => {
    if (current !== index || path.length <= depth || path.length > wanted.length) return;
    if (path.every((part, at) => part === wanted[at])) {
      best = offset;
      depth = path.length;
    }
  };
  const reader = new YamlReader(text, limits, visit);
  while (current <= index && reader.next() !== undefined) current++;
  return best;
}
