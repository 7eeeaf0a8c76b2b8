import { InputError, positionOf, sourceName } from "@xfn/input";
import { textOrEmpty } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import type { Output } from "../terminal/output.ts";
import { hasSchema } from "../validate/documents.ts";
import { lowerDocuments } from "../validate/lower-documents.ts";
import { type ExtensionFlags, readExtensionSources } from "../validate/read-extensions.ts";

/** The most documents that an error names, and the most kinds of skipped documents. */
const MAX_NAMED = 10;

/** The definitions and CRDs of sources, lowered. Says what it skips. */
export async function readDefinitionSources(
  paths: readonly string[],
  flags: ExtensionFlags,
  output: Output,
): Promise<readonly ParsedDocument[]> {
  const read: ParsedDocument[] = [];
  for (const path of paths) read.push(...(await readExtensionSources(path, flags)));
  const documents = read.filter(hasSchema);
  if (documents.length === 0) {
    throw new InputError(`${paths.map(sourceName).join(", ")} has no definition or CustomResourceDefinition`, {
      details: read.slice(0, MAX_NAMED).map(positionOf),
    });
  }
  const others = read.filter((document) => !hasSchema(document));
  const kinds = [...new Set(others.map(({ value }) => textOrEmpty(value, "kind")))].toSorted();
  const named = kinds.length > MAX_NAMED ? [...kinds.slice(0, MAX_NAMED), "..."] : kinds;
  if (others.length > 0) output.note(`xfn: skipped what is not a definition: ${others.length} (${named.join(", ")})`);
  return lowerDocuments(documents);
}
