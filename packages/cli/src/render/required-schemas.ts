import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { asInputError, InputError, sourceName, unreadable } from "@xfn/input";
import { type JsonObject, objectAt } from "@xfn/json";
import { parseJsonDocument } from "@xfn/json/document";
import { findSchema } from "@xfn/pipeline";

/** Finds the OpenAPI schema of a kind. */
export type FindSchema = (selector: { apiVersion: string; kind: string }) => JsonObject | undefined;

/**
 * Reads a folder of OpenAPI v3 documents in JSON, as `kubectl get --raw /openapi/v3/apis/GROUP/VERSION` prints them.
 *
 * @throws InputError
 */
export function readSchemas(folder: string): FindSchema {
  const documents = jsonFiles(folder).map(readSchemaFile);
  if (documents.length === 0) throw new InputError(`${sourceName(folder)} has no .json files (--required-schemas)`);
  return (selector) => {
    for (const schemas of documents) {
      const found = findSchema(schemas, selector, (reference) => {
        throw new InputError(`a schema of --required-schemas refers to ${reference}, which is missing`);
      });
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

function jsonFiles(folder: string): string[] {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    return names
      .filter((name) => extname(name) === ".json")
      .toSorted()
      .map((name) => join(folder, name));
  } catch (error) {
    throw unreadable(folder, error);
  }
}

function readSchemaFile(path: string): JsonObject {
  const value = asInputError(
    path,
    () => parseJsonDocument(readFileSync(path), { source: path }),
    (error) => error instanceof Error && error.name === "DocumentError",
  );
  return objectAt(value, "components", "schemas");
}
