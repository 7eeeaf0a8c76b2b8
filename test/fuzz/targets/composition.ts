import assert from "node:assert/strict";
import { checkComposition, compileTemplates, documentOf, type TemplatesSpec } from "@xfn/composition";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import { child } from "../../vectors/rule.ts";
import { asServed } from "../api-server.ts";
import { mutatedValue, vectorInputs } from "../mutate.ts";
import { type Target, target } from "../target.ts";
import { assertClean } from "./field-path.ts";

const PATCHES = vectorInputs("patches");

const COMPOSITIONS: JsonObject[] = [
  ...vectorInputs("functionio-merge").map(({ composition, validate }) => (composition ?? validate) as JsonObject),
  ...PATCHES.map(
    ({ resources, patchSets, environmentPatches }): JsonObject => ({
      resources: resources ?? [],
      ...(patchSets !== undefined && { patchSets }),
      ...(environmentPatches !== undefined && { environment: { patches: environmentPatches } }),
    }),
  ),
].map((spec) => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "fuzz" },
  spec: { compositeTypeRef: { apiVersion: "acme.example/v1", kind: "X" }, ...spec },
}));

/** Checks Compositions. A valid one must compile and render. */
export const composition: Target = target<JsonObject>({
  input: mutatedValue(COMPOSITIONS),
  run: (input) => {
    const { composition: checked, findings } = checkComposition(documentOf(input));
    assert.equal(
      checked === undefined,
      findings.some(({ severity }) => severity === "error"),
    );
    assertClean();
    if (checked === undefined) return;
    const { resources, patchSets, environment } = checked.spec;
    render({ resources, patchSets, ...(environment !== undefined && { environment }) }, COMPOSITE, {}, undefined);
  },
});

const COMPOSITE: KubernetesObject = {
  apiVersion: "acme.example/v1",
  kind: "X",
  metadata: { name: "x", uid: "u", labels: { "crossplane.io/composite": "x" } },
  spec: { parameters: { size: "large", count: 3, tags: { a: "b" }, list: [1, 2] } },
};

/** Renders templates of an API server without our validation. */
export const templates: Target = target<JsonObject>({
  input: mutatedValue<JsonObject>(PATCHES),
  run: (input) => {
    const served = asServed(input);
    if (served === undefined) return;
    const { xr, resources, patchSets, environment, environmentPatches } = served;
    const spec = {
      resources,
      ...(patchSets !== undefined && { patchSets }),
      ...(environmentPatches !== undefined && { environment: { patches: environmentPatches } }),
    };
    const observed = child(served, "observed");
    render(spec as unknown as TemplatesSpec, xr as KubernetesObject, observed, environment as JsonObject | undefined);
  },
});

function render(
  spec: TemplatesSpec,
  composite: KubernetesObject,
  observed: JsonObject,
  environment: JsonObject | undefined,
): void {
  const before = JSON.stringify([composite, observed, environment], exact);
  try {
    const compiled = compileTemplates(spec);
    const input = {
      composite,
      observed: new Map(Object.entries(observed as Record<string, KubernetesObject>)),
      ...(environment !== undefined && { environment }),
    };
    const first = compiled.render(input);
    assert.deepEqual(compiled.render(input), first);
    for (const { resource, error } of first.resources) assert.equal(resource === undefined, error !== undefined);
  } finally {
    assert.equal(JSON.stringify([composite, observed, environment], exact), before);
    assertClean();
  }
}

function exact(_key: string, one: unknown): unknown {
  return typeof one === "bigint" ? `${one}n` : one;
}
