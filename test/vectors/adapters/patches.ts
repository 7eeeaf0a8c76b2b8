import {
  compileTemplates,
  type Patch,
  type PatchSet,
  type RenderedTemplates,
  type ResourceTemplate,
} from "@xfn/composition";
import { isObject, type JsonObject, type KubernetesObject } from "@xfn/json";
import type { Adapter } from "../adapter.ts";
import type { VectorCase } from "../vector-file.ts";

/** Renders templates for one XR. Like the reference, names new resources as a dry-run create does. */
export const patches: Adapter = {
  run: (vector) => {
    const rendered = renderPatches(vector);
    const name = namer();
    const composed = rendered.resources.map((one): [string, unknown] => [
      one.name,
      one.error === undefined ? { resource: name(one.resource as JsonObject) } : { error: one.error },
    ]);
    return {
      xr: rendered.composite,
      composed: Object.fromEntries(composed),
      ...(rendered.environment !== undefined && { environment: rendered.environment }),
    };
  },
  // For a resource that could not be rendered, only the failure is compared.
  normalize: (output) => {
    if (!isObject(output) || !isObject(output["composed"])) return output;
    const composed = Object.entries(output["composed"]).map(([name, one]): [string, unknown] => [
      name,
      isObject(one) && one["error"] !== undefined ? { error: true } : one,
    ]);
    return { ...output, composed: Object.fromEntries(composed) };
  },
};

/** Renders the templates of a case. */
export function renderPatches(vector: VectorCase): RenderedTemplates {
  const { xr, resources, patchSets, environment, environmentPatches, observed } = vector;
  const compiled = compileTemplates({
    resources: resources as unknown as ResourceTemplate[],
    ...(patchSets !== undefined && { patchSets: patchSets as unknown as PatchSet[] }),
    ...(environmentPatches !== undefined && { environment: { patches: environmentPatches as unknown as Patch[] } }),
  });
  return compiled.render({
    composite: xr as unknown as KubernetesObject,
    observed: new Map(Object.entries((observed ?? {}) as Record<string, KubernetesObject>)),
    ...(environment !== undefined && { environment: environment as JsonObject }),
  });
}

/** Names like the reference's fake API server: generateName and the number of the new resource in five digits. */
function namer(): (resource: JsonObject) => JsonObject {
  let count = 0;
  return (resource) => {
    const metadata = resource["metadata"];
    // A generateName that is not a string counts as absent.
    const text = (field: string): string =>
      isObject(metadata) && typeof metadata[field] === "string" ? metadata[field] : "";
    if (!isObject(metadata) || text("name") !== "" || text("generateName") === "") return resource;
    const name = `${text("generateName")}${String(count++).padStart(5, "0")}`;
    return { ...resource, metadata: { ...metadata, name } };
  };
}
