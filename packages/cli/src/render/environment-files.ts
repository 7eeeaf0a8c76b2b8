import { isObject, type JsonObject } from "@xfn/functionio";
import { documentsByFile, InputError, place, sourceName } from "@xfn/input";

const KIND = "EnvironmentConfig";

/**
 * The EnvironmentConfigs of `--environment`: files or folders.
 *
 * @throws InputError for a document of another kind, or two of one name
 */
export async function readEnvironment(paths: readonly string[]): Promise<readonly JsonObject[]> {
  const configs = new Map<string, JsonObject>();
  for (const path of paths) {
    for (const { file, documents } of await documentsByFile(path)) {
      for (const document of documents) {
        const { value } = document;
        if (!isObject(value) || value["kind"] !== KIND) {
          throw new InputError(`${sourceName(file)} holds something else than ${KIND} objects (--environment)`, {
            details: [place(document)],
          });
        }
        const name = isObject(value["metadata"]) ? value["metadata"]["name"] : undefined;
        if (typeof name !== "string" || name === "") {
          throw new InputError(`an ${KIND} in ${sourceName(file)} has no metadata.name`, {
            details: [place(document)],
          });
        }
        if (configs.has(name)) {
          throw new InputError(`there are two ${KIND}s of the name ${JSON.stringify(name)}`, {
            details: [place(document)],
          });
        }
        configs.set(name, value);
      }
    }
  }
  return [...configs.values()];
}
