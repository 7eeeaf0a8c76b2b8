import { documentsByFile, InputError, positionOf, sourceName } from "@xfn/input";
import { isObject, type JsonObject, textAt } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";

const KIND = "EnvironmentConfig";

/**
 * Reads the EnvironmentConfigs of the files and folders of `--environment`.
 *
 * @throws InputError for a document of another kind, and for two of one name
 */
export async function readEnvironment(paths: readonly string[]): Promise<readonly JsonObject[]> {
  const configs = new Map<string, JsonObject>();
  const add = (file: string, document: ParsedDocument): void => {
    const { value } = document;
    const refusal = (message: string): InputError => new InputError(message, { details: [positionOf(document)] });
    if (!isObject(value) || value["kind"] !== KIND)
      throw refusal(`--environment ${sourceName(file)}: expected only ${KIND} objects`);
    const name = textAt(value, "metadata", "name");
    if (name === undefined) throw refusal(`an ${KIND} in ${sourceName(file)} has no metadata.name`);
    if (configs.has(name)) throw refusal(`two ${KIND}s have the name ${JSON.stringify(name)}`);
    configs.set(name, value);
  };
  for (const path of paths)
    for (const { file, documents } of await documentsByFile(path))
      for (const document of documents) add(file, document);
  return [...configs.values()];
}
