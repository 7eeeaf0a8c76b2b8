import { type Composition, CompositionError, type Finding, parseComposition } from "@xfn/composition";
import { asInputError, documentsOf, InputError, positionOf, sourceName } from "@xfn/input";
import { isObject } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { oneLine } from "@xfn/program/terminal-text";

/** A Composition with the document that it was read from, which has the positions of its fields. */
export interface CompositionFile {
  readonly composition: Composition;
  readonly document: ParsedDocument;
}

/**
 * Reads the Composition of a file, which may contain other documents too (its definition, the XR, functions).
 *
 * @throws InputError
 */
export async function readComposition(path: string, onWarning: (message: string) => void): Promise<CompositionFile> {
  const documents = await documentsOf(path);
  const compositions = documents.filter(({ value }) => isObject(value) && value["kind"] === "Composition");
  const [first, second] = compositions;
  const document = first ?? (documents.length === 1 ? documents[0] : undefined);
  if (document === undefined) {
    throw new InputError(`${sourceName(path)} has no document of kind Composition`, {
      details: [`its documents are of kind: ${[...new Set(documents.map(kindOf))].join(", ") || "none"}`],
    });
  }
  if (second !== undefined) {
    throw new InputError(`${sourceName(path)} has ${compositions.length} Compositions; render takes one`, {
      details: compositions.map(positionOf),
    });
  }
  const composition = asInputError(
    path,
    () => parseComposition(document, { onWarning: (finding) => onWarning(describeFinding(path, finding)) }),
    (error) => error instanceof CompositionError,
  );
  return { composition, document };
}

function kindOf({ value }: ParsedDocument): string {
  const kind = isObject(value) ? value["kind"] : undefined;
  return typeof kind === "string" ? oneLine(kind, 100) : "(none)";
}

/** A finding as one line: `file:line:column: field: message`. */
export function describeFinding(path: string, { message, path: field, line, column }: Finding): string {
  const position = [sourceName(path), line, column].filter((part) => part !== undefined).join(":");
  return `${position}: ${field === "" ? "" : `${field}: `}${message}`;
}
