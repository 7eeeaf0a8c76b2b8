import { applyDefaults, layoutOf, scopeOf } from "@xfn/composition/definition";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import { documentsOfAll, InputError, positionOf, sourceName } from "@xfn/input";

/** An XR after `--xrd`. */
export interface DefinedComposite {
  /** The XR with the defaults of its version. */
  readonly composite: JsonObject;
  /** The connection details that XRs of this kind publish. Absent: any. */
  readonly connectionKeys?: readonly string[];
  /** Whether XRs of this kind have the layout of Crossplane 1. */
  readonly isLegacy?: boolean;
}

const KIND = "CompositeResourceDefinition";

/**
 * Applies the defaults of `--xrd` to an XR, as an API server would have done. The file or folder may contain other
 * documents, and definitions of other kinds.
 *
 * @throws InputError if no definition is of the XR's kind, or the definition is invalid
 */
export async function applyDefinition(path: string, composite: JsonObject): Promise<DefinedComposite> {
  const documents = await documentsOfAll(path);
  const definitions = documents.filter(({ value }) => isObject(value) && value["kind"] === KIND);
  const [only, ...others] = definitions;
  if (only === undefined) throw new InputError(`${sourceName(path)} has no document of kind ${KIND} (--xrd)`);
  const definition = others.length === 0 ? only : definitions.find(({ value }) => defines(value, composite));
  const claimed = definitions.find(({ value }) => defines(value, composite, "claimNames"));
  if (claimed !== undefined) throw claimError(claimed.value, composite);
  if (definition === undefined) {
    throw new InputError(`${sourceName(path)} has no ${KIND} of the composite resource's kind (--xrd)`, {
      details: definitions.map(positionOf),
    });
  }
  const xrd = definition.value as JsonObject;
  const keys = specOf(xrd)["connectionSecretKeys"];
  return {
    composite: withDefaults(xrd, composite, definition, path),
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

function claimError(xrd: JsonValue, claim: JsonObject): InputError {
  const { names } = specOf(xrd);
  const kind = textOf(isObject(names) ? names["kind"] : undefined);
  return new InputError(`${textOf(claim["kind"])} is a claim of ${kind} (--xrd); render takes the composite resource`, {
    details: [
      `Change its kind to ${kind} and remove metadata.namespace: a claim's spec is that of its composite resource.`,
    ],
  });
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function defines(xrd: JsonValue, composite: JsonObject, field: "names" | "claimNames" = "names"): boolean {
  const { group, [field]: names } = specOf(xrd);
  const { apiVersion, kind } = composite;
  return (
    isObject(names) &&
    names["kind"] === kind &&
    typeof apiVersion === "string" &&
    apiVersion.split("/").length === 2 &&
    apiVersion.split("/")[0] === group
  );
}

function specOf(xrd: JsonValue): JsonObject {
  const spec = isObject(xrd) ? xrd["spec"] : undefined;
  return isObject(spec) ? spec : {};
}
