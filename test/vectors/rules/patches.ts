import { type RenderedTemplates, TemplateError } from "@xfn/composition";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { patches, renderPatches } from "../adapters/patches.ts";
import { attempt, child, type Rule } from "../rule.ts";
import type { VectorCase } from "../vector-file.ts";

/** A number, a boolean or an object as a name. */
export const namesAreStrings: Rule = {
  name: "names-are-strings",
  file: "patches",
  reason:
    "A patch that sets metadata.name to another value than a string causes a warning, and the resource is not created. The reference creates it under another name.",
  applies: (vector) => wronglyNamed(vector).length > 0,
  outcome: (vector, recorded) => {
    if ("error" in recorded || !isObject(recorded.output)) return recorded;
    const composed: JsonObject = { ...child(recorded.output, "composed") };
    for (const name of wronglyNamed(vector)) composed[name] = { error: true };
    return { output: { ...recorded.output, composed } };
  },
};

/** Labels or annotations of which some are strings. */
export const textsKept: Rule = {
  name: "labels-that-are-strings-stay",
  file: "patches",
  reason:
    "A label or annotation whose value is not a string is left out, with a warning. The reference silently drops all of them.",
  applies: (vector) => Object.keys(withDropped(vector)).length > 0,
  outcome: (vector, recorded) => {
    if ("error" in recorded || !isObject(recorded.output)) return recorded;
    const composed: Record<string, JsonValue> = { ...child(recorded.output, "composed") };
    for (const [name, metadata] of Object.entries(withDropped(vector))) {
      const resource = child(child(composed, name), "resource");
      composed[name] = { resource: { ...resource, metadata: { ...child(resource, "metadata"), ...metadata } } };
    }
    return { output: { ...recorded.output, composed } };
  },
};

/** The labels and annotations of rendered resources that lack some, by template. */
function withDropped(vector: VectorCase): Record<string, JsonObject> {
  const rendered = attempt(() => renderPatches(vector));
  if ("error" in rendered) return {};
  return Object.fromEntries(
    (rendered.output as RenderedTemplates).resources.flatMap(({ name, resource, dropped }) => {
      if (dropped === undefined || resource === undefined) return [];
      const { labels = {}, annotations = {} } = resource.metadata ?? {};
      return [[name, { labels, annotations }]];
    }),
  );
}

/** The names of the templates with such a name. Only rendering shows the value that transforms yield. */
function wronglyNamed(vector: VectorCase): string[] {
  const rendered = attempt(() => patches.run(vector));
  if ("error" in rendered || !isObject(rendered.output)) return [];
  const composed: Record<string, unknown> = child(rendered.output, "composed");
  return Object.keys(composed).filter((name) => {
    const one = composed[name];
    const error: unknown = isObject(one) ? one["error"] : undefined;
    return error instanceof TemplateError && error.code === "InvalidName";
  });
}
