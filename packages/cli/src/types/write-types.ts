import { writeFileSync } from "node:fs";
import { DEFINITION_KIND, isForm } from "@xfn/composition/definition";
import { messageOf } from "@xfn/errors";
import { generateTypes } from "@xfn/functionio/types";
import { asInputError, InputError, positionOf, sourceName } from "@xfn/input";
import { isObject } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { ExitCode } from "@xfn/program/exit-code";
import { CliError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";
import { hasSchema } from "../validate/documents.ts";
import { lowerDocuments, withValue } from "../validate/lower-documents.ts";
import { type ExtensionFlags, readExtensionSources } from "../validate/read-extensions.ts";

/** The most documents that an error names. */
const MAX_NAMED = 10;

/**
 * `xfn types`: writes TypeScript interfaces for the kinds of definitions to stdout or a file. Sources are those of the
 * extensions of `xfn validate`; their other documents are ignored.
 *
 * @throws InputError if there is no definition
 */
export async function writeTypes(
  paths: readonly string[],
  file: string | undefined,
  flags: ExtensionFlags,
  output: Output,
): Promise<number> {
  const read: ParsedDocument[] = [];
  for (const path of paths) read.push(...(await readExtensionSources(path, flags)));
  const documents = read.filter(hasSchema);
  if (documents.length === 0) {
    throw new InputError(`${paths.map(sourceName).join(", ")} has no definition or CustomResourceDefinition`, {
      details: read.slice(0, MAX_NAMED).map(positionOf),
    });
  }
  const text = asInputError(paths.map(sourceName).join(", "), () => generateTypes(lowered(documents)));
  if (file === undefined) {
    await output.product(text);
    return ExitCode.ok;
  }
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CliError("Failed", `cannot write ${file}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return ExitCode.ok;
}

/** The documents with definitions of every kind in the form of a CompositeResourceDefinition. */
function lowered(documents: readonly ParsedDocument[]): ParsedDocument[] {
  return lowerDocuments(documents).map((document) => {
    const { value } = document;
    return isObject(value) && isForm(value) ? withValue(document, { ...value, kind: DEFINITION_KIND }) : document;
  });
}
