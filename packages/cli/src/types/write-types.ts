import { DEFINITION_KIND, isForm } from "@xfn/composition/definition";
import { generateTypes } from "@xfn/functionio/types";
import { asInputError, sourceName } from "@xfn/input";
import { isObject } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import type { Output } from "../terminal/output.ts";
import { withValue } from "../validate/lower-documents.ts";
import { readDefinitionSources } from "./definition-sources.ts";
import { deliver, type GeneratedFlags, requireFile } from "./generated-file.ts";
import { KindSelection } from "./kind-selection.ts";

/**
 * `xfn types`: writes TypeScript interfaces for the kinds of definitions to stdout or a file. Sources are those of the
 * extensions of `xfn validate`; their other documents are skipped.
 *
 * @throws InputError if there is no definition
 */
export async function writeTypes(paths: readonly string[], flags: GeneratedFlags, output: Output): Promise<number> {
  requireFile(flags);
  const documents = await readDefinitionSources(paths, flags, output);
  const selection = new KindSelection(flags.kinds);
  const text = asInputError(paths.map(sourceName).join(", "), () =>
    generateTypes(asCompositeDefinitions(documents), { sources: paths, select: (kind) => selection.has(kind) }),
  );
  selection.checkFound();
  return await deliver(text, ["xfn types", ...paths, ...selection.flag].join(" "), flags, output);
}

/** The documents with definitions of every form as a CompositeResourceDefinition. */
function asCompositeDefinitions(documents: readonly ParsedDocument[]): ParsedDocument[] {
  return documents.map((document) => {
    const { value } = document;
    return isObject(value) && isForm(value) ? withValue(document, { ...value, kind: DEFINITION_KIND }) : document;
  });
}
