import { InputError, sourceName } from "@xfn/input";
import type { ParsedDocument } from "@xfn/json/document";
import { ExitCode } from "@xfn/program/exit-code";
import { usageError } from "../errors/cli-error.ts";
import { colours } from "../terminal/colours.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import type { Output } from "../terminal/output.ts";
import { withBuiltinKinds } from "./builtin-kinds.ts";
import { checkCompositionFully, checkResource } from "./check-resource.ts";
import { hasSchema, isKind } from "./documents.ts";
import { type OutputFormat, printResults, summaryOf } from "./print-results.ts";
import { type ExtensionFlags, readExtensionSources } from "./read-extensions.ts";
import { readSources, readsStdin } from "./read-sources.ts";
import type { ResourceResult } from "./result.ts";
import { type Extensions, readExtensions } from "./schemas.ts";

/** The options of `xfn validate`. */
export interface ValidateOptions extends ExtensionFlags {
  readonly output: OutputFormat;
  readonly errorOnMissingSchemas?: boolean;
  readonly skipSuccessResults?: boolean;
}

/** `xfn validate`: validates resources against the schemas of extensions. Returns the exit code. */
export async function validate(
  extensions: string,
  resources: string,
  options: ValidateOptions,
  output: Output,
): Promise<number> {
  if (readsStdin(extensions) && readsStdin(resources)) {
    throw usageError("stdin (-) can be read only once: for EXTENSIONS or for RESOURCES");
  }
  const definitions = await withElapsedTime(output, `reading ${sourceName(extensions)}`, () =>
    readExtensionSources(extensions, options),
  );
  const documents = await readSources(resources);
  // An exit code of 0 would read as a success.
  if (documents.length === 0) throw new InputError(`${sourceName(resources)} has no resources to validate`);
  if (!definitions.some(hasSchema) && documents.some(hasSchema)) {
    throw usageError(`no definition or CRD in EXTENSIONS (${extensions}), but in RESOURCES (${resources})`, [
      `Did you mean: xfn validate ${resources} ${extensions}`,
    ]);
  }
  const results = await validateDocuments(definitions, documents);
  await output.product(
    printResults(results, {
      format: options.output,
      skipSuccess: options.skipSuccessResults === true,
      paint: colours(process.stdout),
    }),
  );
  const { invalid, missingSchemas } = summaryOf(results);
  if (invalid > 0) output.note("xfn: could not validate all resources");
  else if (missingSchemas > 0 && options.errorOnMissingSchemas === true) {
    output.note("xfn: could not validate all resources, schema(s) missing");
  } else return ExitCode.ok;
  return ExitCode.failed;
}

function isComposition({ value }: ParsedDocument): boolean {
  return isKind(value, "apiextensions.crossplane.io", "Composition");
}

/** Results of invalid extensions, then of all resources. */
async function validateDocuments(
  definitions: readonly ParsedDocument[],
  documents: readonly ParsedDocument[],
): Promise<readonly ResourceResult[]> {
  const compositions = definitions.filter(isComposition);
  const extensions = await withBuiltinKinds(readExtensions(definitions), [...compositions, ...documents]);
  return [
    ...extensions.results,
    ...compositionResults(compositions, extensions),
    ...documents.flatMap((document) => checkResource(document, extensions)),
  ];
}

/** Results of Compositions among the extensions, except those without findings. */
function compositionResults(compositions: readonly ParsedDocument[], extensions: Extensions): ResourceResult[] {
  return compositions
    .map((document) => checkCompositionFully(document, extensions).result)
    .filter(({ errors, warnings }) => errors.length + warnings.length > 0);
}
