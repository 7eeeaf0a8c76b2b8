import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { Patch, ResourceTemplate } from "../src/api/template.ts";
import type { TemplatesSpec } from "../src/templates/compile-spec.ts";
import { compileTemplates } from "../src/templates/compile-templates.ts";
import type { RenderedTemplates, TemplatesInput } from "../src/templates/rendering.ts";
import { TemplateError } from "../src/templates/template-error.ts";

// Helpers of the tests of templates: an XR, a base, an existing object, and patches between them.

export const xr: KubernetesObject = {
  apiVersion: "example.org/v1",
  kind: "XDatabase",
  metadata: {
    name: "db-x7k2p",
    uid: "uid-xr",
    labels: {
      "crossplane.io/composite": "db-x7k2p",
      "crossplane.io/claim-name": "db",
      "crossplane.io/claim-namespace": "team-a",
    },
  },
  spec: { size: "large", count: 3, tags: { env: "prod" }, nothing: null, cidrs: ["10.0.0.0/8"] },
  status: { known: "before", list: ["a", "b"] },
};
export const base: JsonObject = {
  apiVersion: "db.example.org/v1",
  kind: "Database",
  spec: { region: "eu-1", tags: { env: "dev", keep: "me" }, subnets: [{ name: "s0" }, { name: "s1" }] },
};
export const existing: KubernetesObject = {
  apiVersion: "db.example.org/v1",
  kind: "Database",
  metadata: { name: "db-9", namespace: "ns", labels: { extra: "yes" } },
  spec: { region: "eu-1", late: "initialised" },
  status: { arn: "arn:9", port: 5432 },
};

export function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) freeze(inner);
    Object.freeze(value);
  }
  return value;
}

/** Renders with frozen input, so that a write to it throws. */
export function render(spec: TemplatesSpec, input: Partial<TemplatesInput> = {}): RenderedTemplates {
  const { composite = xr, observed = new Map<string, KubernetesObject>(), ...rest } = input;
  for (const object of observed.values()) freeze(object);
  return compileTemplates(freeze(spec)).render({ composite: freeze(composite), observed, ...freeze(rest) });
}

export function template(patches: Patch[], more: Partial<ResourceTemplate> = {}): ResourceTemplate {
  return { name: "db", base, patches, ...more };
}

/** The base after the patches. */
export function patched(patches: Patch[], input: Partial<TemplatesInput> = {}): JsonObject {
  const { resource, error } = render({ resources: [template(patches)] }, input).resources[0] ?? {};
  if (error !== undefined) throw error;
  return resource as JsonObject;
}

export function failure(spec: TemplatesSpec, input: Partial<TemplatesInput> = {}): TemplateError | undefined {
  return render(spec, input).resources[0]?.error;
}

export function thrown(run: () => unknown): TemplateError {
  try {
    run();
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  throw new Error("expected a TemplateError");
}

export const spec = (resource: JsonObject): JsonObject => resource["spec"] as JsonObject;
export const from = (fromFieldPath: string, toFieldPath?: string, more: Partial<Patch> = {}): Patch => ({
  type: "FromCompositeFieldPath",
  fromFieldPath,
  ...(toFieldPath !== undefined && { toFieldPath }),
  ...more,
});
export const to = (fromFieldPath: string, toFieldPath: string, more: Partial<Patch> = {}): Patch => ({
  ...from(fromFieldPath, toFieldPath, more),
  type: "ToCompositeFieldPath",
});
