import { writeFileSync } from "node:fs";
import { DEFINITION_KIND, isForm } from "@xfn/composition/definition";
import { isObject } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import { generateTypes } from "@xfn/functionio/types";
import { asInputError, documentsOfAll, sourceName } from "@xfn/input";
import { ExitCode } from "@xfn/program/exit-code";
import { CliError } from "../errors/cli-error.ts";
import { messageOf } from "../errors/message-of.ts";
import type { Output } from "../terminal/output.ts";
import { lowerDocuments, withValue } from "../validate/lower-documents.ts";

/** `xfn types`: writes TypeScript interfaces for the kinds of definitions to stdout or a file. */
export async function writeTypes(paths: readonly string[], file: string | undefined, output: Output): Promise<number> {
  const documents: ParsedDocument[] = [];
  for (const path of paths) documents.push(...(await documentsOfAll(path)));
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
