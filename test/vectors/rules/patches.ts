import { TemplateError } from "@xfn/composition";
import { isObject, type JsonObject } from "@xfn/functionio";
import { patches } from "../adapters/patches.ts";
import { attempt, child, type Rule } from "../rule.ts";
import type { VectorCase } from "../vector-file.ts";

/** A number, a boolean or an object as a name. */
export const namesAreStrings: Rule = {
  name: "names-are-strings",
  file: "patches",
  reason:
    "A resource whose metadata.name a patch sets to a value that is no string is not created, with a warning. The reference drops the value, and creates the resource under another name.",
  applies: (vector) => wronglyNamed(vector).length > 0,
  outcome: (vector, recorded) => {
    if ("error" in recorded || !isObject(recorded.output)) return recorded;
    const composed: JsonObject = { ...child(recorded.output, "composed") };
    for (const name of wronglyNamed(vector)) composed[name] = { error: true };
    return { output: { ...recorded.output, composed } };
  },
};

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
