import { documentsByFile, InputError, positionOf, sourceName } from "@xfn/input";
import { isObject, type JsonObject } from "@xfn/json";

const KIND = "EnvironmentConfig";

/**
 * Reads the EnvironmentConfigs of the files and folders of `--environment`.
 *
 * @throws InputError for a document of another kind, and for two of one name
 */
export async function readEnvironment(paths: readonly string[]): Promise<readonly JsonObject[]> {
  const configs = new Map<string, JsonObject>();
  for (const path of paths) {
    for (const { file, documents } of await documentsByFile(path)) {
      for (const document of documents) {
        const { value } = document;
        if (!isObject(value) || value["kind"] !== KIND) {
          throw new InputError(`--environment ${sourceName(file)}: expected only ${KIND} objects`, {
            details: [positionOf(document)],
          });
        }
        const name = isObject(value["metadata"]) ? value["metadata"]["name"] : undefined;
        if (typeof name !== "string" || name === "") {
          throw new InputError(`an ${KIND} in ${sourceName(file)} has no metadata.name`, {
            details: [positionOf(document)],
          });
        }
        if (configs.has(name)) {
          throw new InputError(`two ${KIND}s have the name ${JSON.stringify(name)}`, {
            details: [positionOf(document)],
          });
        }
        configs.set(name, value);
      }
    }
  }
  return [...configs.values()];
}
