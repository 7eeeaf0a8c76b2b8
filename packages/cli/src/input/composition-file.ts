import { type Composition, CompositionError, type Finding, parseComposition } from "@xfn/composition";
import { isObject } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import { asInputError, documentsOf, InputError, positionOf, sourceName } from "@xfn/input";

/**
 * Reads the Composition of a file, which may contain other documents too (its definition, the XR, functions). Makes
 * relative `oci:` images absolute, relative to the file.
 *
 * @param check - a further check; its findings are warnings
 * @throws InputError
 */
export async function readComposition(
  path: string,
  onWarning: (message: string) => void,
  check: (composition: Composition, document: ParsedDocument) => readonly Finding[] = () => [],
): Promise<Composition> {
  const documents = await documentsOf(path);
  const compositions = documents.filter(({ value }) => isObject(value) && value["kind"] === "Composition");
  const [first, second] = compositions;
  const document = first ?? (documents.length === 1 ? documents[0] : undefined);
  if (document === undefined) throw new InputError(`${sourceName(path)} has no document of kind Composition`);
  if (second !== undefined) {
    throw new InputError(`${sourceName(path)} has ${compositions.length} Compositions; render takes one`, {
      details: compositions.map(positionOf),
    });
  }
  const warn = ({ message, path: field, line, column }: Finding): void => {
    const position = [sourceName(path), line, column].filter((part) => part !== undefined).join(":");
    onWarning(`${position}: ${field === "" ? "" : `${field}: `}${message}`);
  };
  const composition = asInputError(
    path,
    () => parseComposition(document, { onWarning: warn }),
    (error) => error instanceof CompositionError,
  );
  for (const finding of check(composition, document)) warn(finding);
  if (composition.spec.functions.length === 0) return composition;
  // Loaded on demand: templates alone name no images.
  const { absoluteImage } = await import("./absolute-image.ts");
  const functions = composition.spec.functions.map((step) => {
    return { ...step, container: { ...step.container, image: absoluteImage(step.container.image, path) } };
  });
  return { ...composition, spec: { ...composition.spec, functions } };
}
