import { type JsonObject, newObject } from "@xfn/json";
import type { EnvironmentConfiguration, PatchSet, ResourceTemplate } from "../api/template.ts";
import { FieldPathError } from "../field-path/field-path.ts";
import { documentValue } from "../field-path/value.ts";
import { isObject } from "../values/json.ts";
import { type CompiledPatch, compilePatch } from "./compile-patch.ts";
import { inlinePatchSets } from "./inline-patch-sets.ts";
import { itemsOf, textOrNone } from "./items-of.ts";
import { hasKind } from "./object-kind.ts";
import { TemplateError } from "./template-error.ts";

/** The patch-and-transform part of a Composition's spec. */
export interface TemplatesSpec {
  resources?: readonly ResourceTemplate[];
  /** The field of the templates if it is not `resources`. Errors and traces use it in paths. */
  resourcesField?: "to";
  patchSets?: readonly PatchSet[];
  environment?: EnvironmentConfiguration;
}

export interface CompiledTemplate {
  name: string;
  index: number;
  /** Its path in the Composition. */
  source: string;
  /** The base without name, namespace and generateName, which a base cannot set. */
  base: JsonObject | TemplateError;
  /** Patches from the XR, and from and to the environment. */
  patches: readonly CompiledPatch[];
  /** Patches to the XR. */
  toComposite: readonly CompiledPatch[];
}

export interface CompiledSpec {
  templates: readonly CompiledTemplate[];
  environment: readonly CompiledPatch[];
}

/** Compiles paths, transforms and formats. Returns the error if every render of the spec must fail. */
export function compileSpec(spec: TemplatesSpec): CompiledSpec | TemplateError {
  try {
    const resources = itemsOf(spec.resources);
    const field = `spec.${spec.resourcesField ?? "resources"}`;
    const inlined = inlinePatchSets(
      resources.map(([, template]) => template),
      spec.patchSets,
      field,
    );
    const templates = resources.map(([index, template], position): CompiledTemplate => {
      const source = `${field}[${index}]`;
      const name = textOrNone(template.name);
      if (name === undefined) throw new TemplateError("Unnamed", source, "the template has no name");
      const patches = inlined[position] ?? [];
      return {
        name,
        index,
        source,
        base: compileBase(template.base, source),
        patches: patches.filter((patch) => patch.direction !== "toComposite"),
        toComposite: patches.filter((patch) => patch.direction === "toComposite"),
      };
    });
    const environment = itemsOf(spec.environment?.patches)
      .map(([index, patch]) => compilePatch(patch, `spec.environment.patches[${index}]`))
      // As in Crossplane, only patches between the XR and the environment have an effect.
      .filter((patch) => patch?.direction === "toComposed" || patch?.direction === "toComposite")
      .filter((patch) => patch !== undefined);
    return { templates, environment };
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
}

function compileBase(given: JsonObject, source: string): JsonObject | TemplateError {
  const path = `${source}.base`;
  if (!isObject(given)) return new TemplateError("InvalidBase", path, "is not an object");
  if (!hasKind(given)) return new TemplateError("InvalidBase", path, "has no kind, or an invalid apiVersion");
  try {
    const base = documentValue(given) as JsonObject;
    const metadata = base["metadata"] ?? (base["metadata"] = newObject());
    if (!isObject(metadata)) return new TemplateError("InvalidBase", `${path}.metadata`, "is not an object");
    for (const field of ["name", "namespace", "generateName"]) delete metadata[field];
    return base;
  } catch (error) {
    if (error instanceof FieldPathError) return new TemplateError("TooLarge", path, error.message, { cause: error });
    throw error;
  }
}
