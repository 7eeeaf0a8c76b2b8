import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import type { EnvironmentConfiguration, PatchSet, ResourceTemplate } from "../api/template.ts";
import { FieldPathError } from "../field-path/field-path.ts";
import { documentValue } from "../field-path/value.ts";
import { emptyObject, isObject } from "../values/json.ts";
import { type CompiledPatch, compilePatch } from "./compile-patch.ts";
import { inlinePatchSets } from "./inline-patch-sets.ts";
import { itemsOf, textOrNone } from "./items-of.ts";
import { hasKind } from "./object-kind.ts";
import { RenderRun } from "./render-run.ts";
import { TemplateError } from "./template-error.ts";
import type { TemplateWrite } from "./template-write.ts";

/** The patch-and-transform part of a Composition's spec. */
export interface TemplatesSpec {
  resources?: readonly ResourceTemplate[];
  /** What the author wrote the templates under, where that is not `resources`: errors and traces name their place. */
  resourcesField?: "to";
  patchSets?: readonly PatchSet[];
  environment?: EnvironmentConfiguration;
}

/** What templates are rendered for. Nothing of it is changed. */
export interface TemplatesInput {
  /** The XR. It needs the `crossplane.io/composite` label: composed resources are named after it. */
  composite: KubernetesObject;
  /** The composed resources that exist, by template name. */
  observed: ReadonlyMap<string, KubernetesObject>;
  /** Without one, patches from and to the environment do nothing, even required ones. */
  environment?: JsonObject;
  /** Told of each write to the XR and to composed resources, in order. */
  onWrite?: (write: TemplateWrite) => void;
}

/** What templates made. Shares nothing with the input that either may change. */
export interface RenderedTemplates {
  /** The XR after the patches to it. */
  composite: JsonObject;
  /** What patches set in the XR, beside `apiVersion` and `kind`; lists as a whole. Absent if they set nothing. */
  desiredComposite?: JsonObject;
  /** The environment after the patches to it. Absent if there was none. */
  environment?: JsonObject;
  /** In the order of the templates. */
  resources: RenderedTemplate[];
}

/** What became of one template. */
export interface RenderedTemplate {
  name: string;
  /** With labels, annotation and owner; with the name of the object that exists, or else a `generateName`. */
  resource?: KubernetesObject;
  /** Why there is no resource. Others are not affected. */
  error?: TemplateError;
  /** The template's index in `spec.resources`. */
  template: number;
}

/** Templates that can be rendered any number of times. */
export interface CompiledTemplates {
  /** @throws {TemplateError} if the step fails as a whole: a patch to the XR failed, or patch sets cannot be used */
  render(input: TemplatesInput): RenderedTemplates;
}

/** A template, ready to be rendered. */
export interface CompiledTemplate {
  name: string;
  index: number;
  /** Its place as the author wrote it. */
  source: string;
  /** Without name, namespace and generateName, which are not the template's to give. */
  base: JsonObject | TemplateError;
  /** From the XR and from and to the environment. */
  patches: readonly CompiledPatch[];
  /** To the XR. */
  toComposite: readonly CompiledPatch[];
}

/** What {@link compileTemplates} makes of a spec. */
export interface CompiledSpec {
  templates: readonly CompiledTemplate[];
  environment: readonly CompiledPatch[];
}

/**
 * Compiles templates, patch sets and environment patches: paths, transforms and formats are read here, once.
 *
 * It takes what an API server has accepted, which is more than can work; a mistake surfaces when a run gets to it, as in
 * Crossplane. Use `parseComposition` to find mistakes beforehand.
 */
export function compileTemplates(spec: TemplatesSpec): CompiledTemplates {
  const compiled = compileSpec(spec);
  return {
    render(input: TemplatesInput): RenderedTemplates {
      if (compiled instanceof TemplateError) throw compiled;
      return new RenderRun(compiled, input).render();
    },
  };
}

function compileSpec(spec: TemplatesSpec): CompiledSpec | TemplateError {
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
      // Between the XR and the environment only: other types are passed over, as in Crossplane.
      .filter((patch) => patch?.direction === "toComposed" || patch?.direction === "toComposite")
      .filter((patch) => patch !== undefined);
    return { templates, environment };
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
}

function compileBase(given: JsonObject, source: string): JsonObject | TemplateError {
  const place = `${source}.base`;
  if (!isObject(given)) return new TemplateError("InvalidBase", place, "is not an object");
  if (!hasKind(given)) return new TemplateError("InvalidBase", place, "has no kind, or an apiVersion that is none");
  try {
    const base = documentValue(given) as JsonObject;
    const metadata = base["metadata"] ?? (base["metadata"] = emptyObject());
    if (!isObject(metadata)) return new TemplateError("InvalidBase", `${place}.metadata`, "is not an object");
    for (const field of ["name", "namespace", "generateName"]) delete metadata[field];
    return base;
  } catch (error) {
    if (error instanceof FieldPathError) return new TemplateError("TooLarge", place, error.message, { cause: error });
    throw error;
  }
}
