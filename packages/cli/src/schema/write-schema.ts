import { asInputError, sourceName } from "@xfn/input";
import { isObject, type JsonObject } from "@xfn/json";
import type { Output } from "../terminal/output.ts";
import { readDefinitionSources } from "../types/definition-sources.ts";
import { deliver, type GeneratedFlags, requireFile } from "../types/generated-file.ts";
import { KindSelection } from "../types/kind-selection.ts";
import { builtinDefinitions } from "./builtin-definitions.ts";
import { EMBEDDED, reference } from "./json-schema.ts";
import { compositionKinds, definedKinds, type KindSchema } from "./kind-schemas.ts";

/** Metadata that people write. */
const METADATA: JsonObject = {
  type: "object",
  properties: {
    name: { type: "string" },
    generateName: { type: "string" },
    namespace: { type: "string" },
    labels: { type: "object", additionalProperties: { type: ["string", "null"] } },
    annotations: { type: "object", additionalProperties: { type: ["string", "null"] } },
  },
};

/**
 * `xfn schema`: writes a JSON Schema for YAML editors to stdout or a file. It has the kinds of definitions and CRDs,
 * Compositions whose bases and inputs are checked by their kind, and Kubernetes' own kinds.
 *
 * @throws InputError if there is no definition
 */
export async function writeSchema(paths: readonly string[], flags: GeneratedFlags, output: Output): Promise<number> {
  requireFile(flags);
  const documents = await readDefinitionSources(paths, flags, output);
  const selection = new KindSelection(flags.kinds);
  const defined = asInputError(paths.map(sourceName).join(", "), () => definedKinds(documents)).filter(
    ({ apiVersion, kind }) => selection.has({ kind, group: apiVersion.split("/")[0] ?? "" }),
  );
  selection.checkFound();
  const command = ["xfn schema", ...paths, ...selection.flag].join(" ");
  const schema = await schemaOf([...defined, ...compositionKinds()]);
  // The first line alone names the sources.
  const comment = JSON.stringify(`Written by ${command}. Do not edit: run it again when the definitions change.`);
  const text = escaped(`{"$comment":${comment},\n${JSON.stringify(schema).slice(1)}\n`);
  return await deliver(text, command, flags, output);
}

/** Descriptions come from other authors, and can contain characters on which a terminal acts. */
function escaped(json: string): string {
  return json.replaceAll(
    /[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

async function schemaOf(given: readonly KindSchema[]): Promise<JsonObject> {
  const builtin = await builtinDefinitions();
  const kinds = [...given, ...builtin.kinds];
  const definitions: JsonObject = { ...builtin.definitions, metadata: METADATA };
  const files: JsonObject[] = [];
  const embedded: JsonObject[] = [];
  for (const kind of kinds) {
    const name = `${kind.apiVersion}.${kind.kind}`.replaceAll(/[^\w.-]/g, "_");
    definitions[`base.${name}`] = withIdentity(kind, kind.base);
    embedded.push(branch(kind, `base.${name}`));
    if (kind.complete !== undefined) definitions[name] = withIdentity(kind, kind.complete);
    files.push(branch(kind, kind.complete === undefined ? `base.${name}` : name));
  }
  definitions[EMBEDDED] = { ...identity(kinds), allOf: embedded };
  const root = { ...identity(kinds), allOf: files, definitions };
  return { $schema: "http://json-schema.org/draft-07/schema#", ...root };
}

/** Offers the known names, and allows others. */
function identity(kinds: readonly KindSchema[]): JsonObject {
  const known = (names: readonly string[]): JsonObject => ({
    anyOf: [{ enum: [...new Set(names)].toSorted() }, { type: "string" }],
  });
  return {
    type: "object",
    required: ["apiVersion", "kind"],
    properties: {
      apiVersion: known(kinds.map(({ apiVersion }) => apiVersion)),
      kind: known(kinds.map(({ kind }) => kind)),
      metadata: reference("metadata"),
    },
  };
}

function branch({ apiVersion, kind }: KindSchema, definition: string): JsonObject {
  return {
    if: { required: ["apiVersion", "kind"], properties: { apiVersion: { const: apiVersion }, kind: { const: kind } } },
    // oxlint-disable-next-line no-thenable -- a keyword of JSON Schema
    then: reference(definition),
  };
}

function withIdentity({ apiVersion, kind }: KindSchema, schema: JsonObject): JsonObject {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  return {
    ...schema,
    properties: {
      ...properties,
      apiVersion: { const: apiVersion },
      kind: { const: kind },
      metadata: reference("metadata"),
    },
  };
}
