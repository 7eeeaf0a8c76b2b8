import { applyDefaults, DEFINITION_FORMS, DEFINITION_KIND, layoutOf, scopeOf } from "@xfn/composition/definition";
import { documentsOfAll, InputError, positionOf, sourceName } from "@xfn/input";
import { type JsonObject, type JsonValue, type KubernetesObject, textOrEmpty, valueAt } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { describeFinding } from "../input/composition-file.ts";
import { lowerDocuments } from "../validate/lower-documents.ts";
import { metadataErrors } from "../validate/metadata-errors.ts";
import { errorLine } from "../validate/result.ts";
import { byPosition, schemaErrors } from "../validate/schema-errors.ts";
import { schemaOfComposite } from "../validate/schemas.ts";

/** An XR after `--xrd`. */
export interface DefinedComposite {
  /** The XR with the defaults of its version. */
  readonly composite: JsonObject;
  /** The connection details that XRs of this kind publish. Absent: any. */
  readonly connectionKeys?: readonly string[];
  /** Whether XRs of this kind have the layout of Crossplane 1. */
  readonly isLegacy?: boolean;
}

const KINDS: readonly string[] = [DEFINITION_KIND, ...DEFINITION_FORMS];

/**
 * Validates an XR against the definition of `--xrd`, and applies its defaults, as an API server would have done. The
 * file or folder may contain other documents, and definitions of other kinds.
 *
 * @param onWarning - called with the reason if the definition's schema cannot validate XRs
 * @throws InputError if no definition is of the XR's kind, the definition is invalid, or the XR is
 */
export async function applyDefinition(
  path: string,
  given: ParsedDocument & { readonly value: JsonObject },
  onWarning: (message: string) => void,
): Promise<DefinedComposite> {
  const composite = given.value;
  const documents = lowerDocuments(await documentsOfAll(path));
  const definitions = documents.filter(({ value }) => KINDS.includes(textOrEmpty(value, "kind")));
  const [only, ...others] = definitions;
  if (only === undefined)
    throw new InputError(`${sourceName(path)} has no document of kind ${KINDS.join(", ")} (--xrd)`);
  const definition = others.length === 0 ? only : definitions.find(({ value }) => defines(value, composite));
  const claimed = definitions.find(({ value }) => defines(value, composite, "claimNames"));
  if (claimed !== undefined) throw claimError(claimed.value, composite);
  if (definition === undefined) {
    throw new InputError(`${sourceName(path)} has no definition of the composite resource's kind (--xrd)`, {
      details: definitions.map(positionOf),
    });
  }
  const xrd = definition.value as JsonObject;
  const keys = valueAt(xrd, "spec", "connectionSecretKeys");
  const complete = withDefaults(xrd, composite, definition, path);
  checkComposite(given, definition, onWarning);
  return {
    composite: complete,
    ...layoutOf(scopeOf(xrd)),
    ...(Array.isArray(keys) && { connectionKeys: keys.filter((key) => typeof key === "string") }),
  };
}

function withDefaults(
  xrd: JsonObject,
  composite: KubernetesObject,
  document: ParsedDocument,
  path: string,
): KubernetesObject {
  try {
    return applyDefaults(xrd, composite);
  } catch (error) {
    if (!(error instanceof Error && error.name === "DefinitionError")) throw error;
    throw new InputError(`${sourceName(path)} cannot be used for the composite resource (--xrd)`, {
      details: [...error.message.split("\n"), positionOf(document)],
      cause: error,
    });
  }
}

function checkComposite(
  composite: ParsedDocument & { readonly value: JsonObject },
  definition: ParsedDocument,
  onWarning: (message: string) => void,
): void {
  const apiVersion = textOrEmpty(composite.value, "apiVersion");
  const kind = textOrEmpty(composite.value, "kind");
  const { schema, findings } = schemaOfComposite(definition, { apiVersion, kind });
  for (const finding of findings)
    onWarning(`${describeFinding(definition.source ?? "", finding)}; the composite resource is not validated (--xrd)`);
  if (schema === undefined) return;
  const found = [...metadataErrors(composite).errors, ...schemaErrors(composite, schema)].toSorted(byPosition);
  // Functions often set fields of the status that the definition lacks, and files have what they set before.
  const dropped = found.filter(({ type, field }) => type === "unknownField" && field.startsWith("status."));
  for (const error of dropped) onWarning(`${errorLine(error)}; an API server drops it`);
  const errors = found.filter((error) => !dropped.includes(error));
  if (errors.length === 0) return;
  throw new InputError(`the composite resource is invalid according to ${definition.source} (--xrd)`, {
    details: errors.map(errorLine),
  });
}

function claimError(xrd: JsonValue, claim: JsonObject): InputError {
  const kind = textOrEmpty(xrd, "spec", "names", "kind");
  return new InputError(
    `${textOrEmpty(claim, "kind")} is a claim of ${kind} (--xrd); render takes the composite resource`,
    {
      details: [
        `Change its kind to ${kind} and remove metadata.namespace: a claim's spec is that of its composite resource.`,
      ],
    },
  );
}

function defines(xrd: JsonValue, composite: JsonObject, field: "names" | "claimNames" = "names"): boolean {
  const [group, version, ...more] = textOrEmpty(composite, "apiVersion").split("/");
  return (
    valueAt(xrd, "spec", field, "kind") === composite["kind"] &&
    valueAt(xrd, "spec", "group") === group &&
    version !== undefined &&
    more.length === 0
  );
}
