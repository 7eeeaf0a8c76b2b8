import { type Composition, CompositionError, parseComposition } from "@xfn/composition";
import { type Definition, DefinitionError, parseDefinition } from "@xfn/composition/definition";
import { asInputError, documentsByFile, isInputError } from "@xfn/input";
import { isObject } from "@xfn/json";
import { type ParsedDocument, printYaml } from "@xfn/json/document";
import { UsageError } from "@xfn/program";
import { controllerRole, type PluralOf } from "../definition/controller-role.ts";
import { COMPOSITIONS, CRDS, DEFINITIONS, groupKind } from "../objects/kinds.ts";

interface Sources {
  readonly definitions: readonly Definition[];
  readonly compositions: readonly Composition[];
  readonly pluralOf: PluralOf;
}

/**
 * Prints a ClusterRole for each definition of files and folders, as YAML documents. It lets the controller work on the
 * definition's kinds, and on those that the Compositions of the files compose.
 *
 * @throws UsageError for files that cannot be used
 */
export async function printRoles(paths: readonly string[]): Promise<string> {
  try {
    const { definitions, compositions, pluralOf } = await readSources(paths);
    const rest = new Set(compositions);
    const printed = definitions.map((definition) => {
      const own = compositions.filter((composition) => isFor(composition, definition));
      for (const composition of own) rest.delete(composition);
      const { role, notes } = controllerRole(definition, own, pluralOf);
      return `---\n${notes.map((note) => `# ${note}\n`).join("")}${printYaml(role)}`;
    });
    const [other] = rest;
    if (other !== undefined) {
      const { kind, apiVersion } = other.spec.compositeTypeRef;
      const problem = `Composition ${other.metadata.name} is for ${kind} (${apiVersion}): give its definition too`;
      throw new UsageError([problem]);
    }
    if (printed.length === 0) throw new UsageError([`no ${DEFINITIONS.kind} in ${paths.join(", ")}`]);
    return printed.join("");
  } catch (error) {
    if (isInputError(error)) throw new UsageError([error.message, ...error.details], { cause: error });
    throw error;
  }
}

function isFor({ spec }: Composition, { spec: { group, names } }: Definition): boolean {
  const { apiVersion, kind } = spec.compositeTypeRef;
  return groupKind(apiVersion, kind) === `${group}/${names.kind}`;
}

async function readSources(paths: readonly string[]): Promise<Sources> {
  const definitions: Definition[] = [];
  const compositions: Composition[] = [];
  const plurals = new Map<string, string>();
  for (const path of paths) {
    for (const { file, documents } of await documentsByFile(path)) {
      for (const document of documents) {
        const parsed = asInputError(file, () => parse(document), isFault);
        if (parsed?.kind === "Composition") compositions.push(parsed);
        else if (parsed !== undefined) definitions.push(parsed);
        else notePlural(document, plurals);
      }
    }
  }
  for (const { spec } of definitions)
    for (const names of [spec.names, spec.claimNames])
      if (names !== undefined) plurals.set(`${spec.group}/${names.kind}`, names.plural);
  return { definitions, compositions, pluralOf: (group, kind) => plurals.get(`${group}/${kind}`) };
}

/** Files may have other documents, such as claims. */
function parse(document: ParsedDocument): Definition | Composition | undefined {
  const { value } = document;
  if (!isObject(value)) return undefined;
  if (value["kind"] === DEFINITIONS.kind) return parseDefinition(document);
  return value["kind"] === COMPOSITIONS.kind ? parseComposition(document) : undefined;
}

function isFault(error: Error): boolean {
  return error instanceof DefinitionError || error instanceof CompositionError;
}

function notePlural({ value }: ParsedDocument, plurals: Map<string, string>): void {
  if (!isObject(value) || value["kind"] !== CRDS.kind || !isObject(value["spec"])) return;
  const { group, names } = value["spec"];
  if (!isObject(names)) return;
  const { kind, plural } = names;
  if (typeof group === "string" && typeof kind === "string" && typeof plural === "string")
    plurals.set(`${group}/${kind}`, plural);
}
