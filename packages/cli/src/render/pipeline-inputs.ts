import { asInputError, documentsOfAll, readInput, sourceName } from "@xfn/input";
import type { JsonObject, JsonValue } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import type { RenderInput } from "@xfn/pipeline";
import { CliError } from "../errors/cli-error.ts";
import { keyAndValue } from "../flags/key-value.ts";
import type { PipelineOptions } from "./pipeline-options.ts";
import { requiredObjects } from "./required-objects.ts";
import { readSchemas } from "./required-schemas.ts";

/** Inputs of functions of `mode: Pipeline` in addition to the state. */
export type PipelineInputs = Required<Pick<RenderInput, "required" | "credentials" | "context">>;

/**
 * Reads the files of the flags for `mode: Pipeline`.
 *
 * @param observed the composed resources that exist, which functions can require too
 * @throws CliError `Usage`
 * @throws InputError
 */
export async function readPipelineInputs(
  options: PipelineOptions,
  observed: readonly JsonValue[],
): Promise<PipelineInputs> {
  const { functionCredentials, requiredSchemas } = options;
  const paths = [...(options.requiredResources ?? []), ...(options.extraResources ?? [])];
  if (functionCredentials !== undefined) paths.push(functionCredentials);
  const given = await Promise.all(paths.map(documentsOfAll));
  const objects = requiredObjects([...observed, ...given.flat().map(({ value }) => value)]);
  const schemaOf = requiredSchemas === undefined ? () => undefined : readSchemas(requiredSchemas);
  return {
    required: {
      resources: async (selector) => await Promise.resolve(objects.select(selector)),
      schema: async (selector) => await Promise.resolve(schemaOf(selector)),
    },
    credentials: async (secret) => {
      const data = objects.secret(secret);
      if (data !== undefined) return await Promise.resolve(data);
      const problem = `there is no Secret ${secret.namespace}/${secret.name} for the credentials of the step`;
      throw new CliError("Failed", `${problem}; give a file with it as --function-credentials`);
    },
    context: await contextOf(options),
  };
}

async function contextOf({ contextFiles = [], contextValues = [] }: PipelineOptions): Promise<JsonObject> {
  const files = await Promise.all(
    contextFiles.map(async (text) => {
      const [key, path] = keyAndValue("--context-files", text, "KEY=FILE");
      return [key, valueOf(await readInput(path), sourceName(path))] as const;
    }),
  );
  const values = contextValues.map((text) => {
    const [key, value] = keyAndValue("--context-values", text);
    return [key, valueOf(value, `--context-values ${key}`)] as const;
  });
  return Object.fromEntries([...files, ...values]);
}

function valueOf(text: string | Uint8Array, source: string): JsonValue {
  const [document] = asInputError(
    source,
    () => readDocuments(text, { source }),
    (error) => error instanceof Error && error.name === "DocumentError",
  );
  return document?.value ?? null;
}
