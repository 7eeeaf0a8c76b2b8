import { isForm, lowerDefinition, PUBLICATION_KIND } from "@xfn/composition/definition";
import { isObject, type JsonObject, textOrEmpty } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { isKind } from "./documents.ts";

/** The names of the definitions that publications among the documents offer as requirements. */
export function publishedNames(documents: readonly ParsedDocument[]): ReadonlySet<string> {
  return new Set(documents.filter(isPublication).map(({ value }) => textOrEmpty(value, "metadata", "name")));
}

/**
 * Lowers the InfrastructureDefinitions and ApplicationDefinitions among documents, each with the requirement that a
 * publication offers. Leaves other documents as they are, and publications out. Positions are those of the author's
 * text.
 */
export function lowerDocuments(documents: readonly ParsedDocument[]): ParsedDocument[] {
  const published = publishedNames(documents);
  return documents
    .filter((document) => !isPublication(document))
    .map((document) => {
      const { value } = document;
      if (!isObject(value) || !isForm(value)) return document;
      return withValue(
        document,
        lowerDefinition(value, { isPublished: published.has(textOrEmpty(value, "metadata", "name")) }),
      );
    });
}

/** A document with another value, and the positions of the nearest ancestors in the text. */
export function withValue(document: ParsedDocument, value: JsonObject): ParsedDocument {
  return { value, source: document.source, positionOf: (path) => document.positionOf(path) };
}

function isPublication({ value }: ParsedDocument): boolean {
  return isKind(value, "apiextensions.crossplane.io", PUBLICATION_KIND);
}
