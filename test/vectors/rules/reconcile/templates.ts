import { compileTemplates, type RenderedTemplate, type ResourceTemplate } from "@xfn/composition";
import type { KubernetesObject } from "@xfn/json";
import { child, list } from "../../rule.ts";
import type { VectorCase } from "../../vector-file.ts";
import { ANNOTATION, isForeign, referenced, xrOf } from "./case.ts";

// Renders templates by our own package. The vectors of patches compare it with the reference.

/** The rendered templates by the names of their entries. */
export function rendered(vector: VectorCase): [name: string, resource: KubernetesObject][] {
  return results(vector).flatMap(({ name, resource }): [string, KubernetesObject][] =>
    resource === undefined ? [] : [[name, named(resource)]],
  );
}

/** Entries of failed templates. */
export function failedNames(vector: VectorCase): string[] {
  return results(vector).flatMap(({ name, resource }) => (resource === undefined ? [name] : []));
}

/** Empty if a patch to the XR fails, which fails the run. */
function results(vector: VectorCase): RenderedTemplate[] {
  const { resources, patchSets } = child(vector, "composition");
  const templates = list(resources).map((one, index) => ({ ...one, name: one["name"] ?? `template-${index}` }));
  const compiled = compileTemplates({
    resources: templates as unknown as ResourceTemplate[],
    ...(patchSets !== undefined && { patchSets: patchSets as never }),
  });
  try {
    return compiled.render({ composite: xrOf(vector), observed: existing(vector) }).resources;
  } catch {
    return [];
  }
}

/** With the name that the reference gives to the first new resource. */
export function named(resource: KubernetesObject): KubernetesObject {
  const { generateName = "", name = `${generateName}00000` } = resource.metadata ?? {};
  return { ...resource, metadata: { ...resource.metadata, name } };
}

/** The existing resources by the names of their entries. */
export function existing(vector: VectorCase): Map<string, KubernetesObject> {
  const own = referenced(vector).filter((object) => !isForeign(object, vector));
  return new Map(
    own.map((object) => [
      String(child(child(object, "metadata"), "annotations")[ANNOTATION]),
      object as KubernetesObject,
    ]),
  );
}
