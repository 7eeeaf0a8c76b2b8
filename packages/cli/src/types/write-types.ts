import { DEFINITION_KIND, isForm } from "@xfn/composition/definition";
import { generateTypes } from "@xfn/functionio/types";
import { asInputError, InputError, positionOf, sourceName } from "@xfn/input";
import { isObject, textOrEmpty } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { ExitCode } from "@xfn/program/exit-code";
import { usageError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";
import { hasSchema } from "../validate/documents.ts";
import { lowerDocuments, withValue } from "../validate/lower-documents.ts";
import { type ExtensionFlags, readExtensionSources } from "../validate/read-extensions.ts";
import { checkGenerated, writeGenerated } from "./generated-file.ts";
import { KindSelection } from "./kind-selection.ts";

/** Flags of `xfn types`. */
export type TypesFlags = ExtensionFlags & { output?: string; kinds?: string; check: boolean };

/** The most documents that an error names, and the most kinds of skipped documents. */
const MAX_NAMED = 10;

/**
 * `xfn types`: writes TypeScript interfaces for the kinds of definitions to stdout or a file. Sources are those of the
 * extensions of `xfn validate`; their other documents are skipped.
 *
 * @throws InputError if there is no definition
 */
export async function writeTypes(paths: readonly string[], flags: TypesFlags, output: Output): Promise<number> {
  const { output: path, check } = flags;
  if (check && path === undefined) throw usageError("--check compares a file: name it with --output");
  const documents = await readDefinitionSources(paths, flags, output);
  const selection = new KindSelection(flags.kinds);
  const text = asInputError(paths.map(sourceName).join(", "), () =>
    generateTypes(asCompositeDefinitions(documents), { sources: paths, select: (kind) => selection.has(kind) }),
  );
  selection.checkFound();
  if (path === undefined) {
    await output.product(text);
    return ExitCode.ok;
  }
  const file = { path, text, command: ["xfn types", ...paths, ...selection.flag, "-o", path].join(" ") };
  return check ? checkGenerated(file, output) : writeGenerated(file);
}

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

/** The documents with definitions of every form as a CompositeResourceDefinition. */
function asCompositeDefinitions(documents: readonly ParsedDocument[]): ParsedDocument[] {
  return documents.map((document) => {
    const { value } = document;
    return isObject(value) && isForm(value) ? withValue(document, { ...value, kind: DEFINITION_KIND }) : document;
  });
}
