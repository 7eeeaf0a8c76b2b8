import { ApiError, type Cache, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { describe, expect, test, vi } from "vitest";
import { StrictSchemas, type StrictSchemasInput } from "./strict-schemas.ts";

const WIDGETS: ResourceKind = {
  group: "things.example.org",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: false,
};

const CRD = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.things.example.org", uid: "u", resourceVersion: "1" },
  spec: {
    versions: [
      { name: "v1", schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } } },
      { name: "v2", schema: { openAPIV3Schema: { type: "array", minLength: "x" } } },
    ],
  },
} satisfies LiveObject;

interface Fake {
  readonly input: StrictSchemasInput;
  readonly get: ReturnType<typeof vi.fn<() => Promise<LiveObject>>>;
}

/** @param watched whether the CRD is in a cache */
function fake(watched: boolean, served = true): Fake {
  const get = vi.fn<() => Promise<LiveObject>>(async () => await Promise.resolve(CRD));
  const kind = async (): Promise<ResourceKind> => {
    if (!served) throw new ApiError("KindNotServed", "not served");
    return await Promise.resolve(WIDGETS);
  };
  const cache = { get: () => CRD, list: () => [CRD] };
  const input = {
    client: { get, kind },
    informers: {
      peek: (_: ResourceKind, { fieldSelector }: { fieldSelector?: string } = {}) =>
        watched && fieldSelector === `metadata.name=${CRD.metadata.name}` ? (cache as unknown as Cache) : undefined,
    },
    signal: new AbortController().signal,
  };
  return { input: input as unknown as StrictSchemasInput, get };
}

describe("schemas for schema: Strict", () => {
  test("a CRD is read once, and then watched by its name: a steady state makes no request", async () => {
    const first = fake(false);
    const schemas = new StrictSchemas(first.input);
    const read = await schemas.of("things.example.org/v1", "Widget");
    expect(read?.prune({ spec: {}, typo: 1 }).unknown).toEqual([["typo"]]);
    expect(first.get).toHaveBeenCalledTimes(1);
    expect(schemas.selections).toMatchObject([{ fieldSelector: "metadata.name=widgets.things.example.org" }]);
    const later = fake(true);
    const again = new StrictSchemas(later.input);
    expect(await again.of("things.example.org/v1", "Widget")).toBe(read);
    expect(later.get).not.toHaveBeenCalled();
    expect(again.selections).toHaveLength(1);
  });

  test("a kind or a version without a usable schema is not known", async () => {
    const { input } = fake(true);
    const schemas = new StrictSchemas(input);
    expect(await schemas.of("things.example.org/v3", "Widget")).toBeUndefined();
    expect(await schemas.of("things.example.org/v2", "Widget")).toBeUndefined();
    expect(await new StrictSchemas(fake(true, false).input).of("other.example.org/v1", "Other")).toBeUndefined();
  });

  test("Kubernetes' own kinds need no CRD", async () => {
    const { input, get } = fake(false);
    const schemas = new StrictSchemas(input);
    const schema = await schemas.of("apps/v1", "Deployment");
    expect(schema?.prune({ spec: { replicaz: 1 } }).unknown).toEqual([["spec", "replicaz"]]);
    expect(await schemas.of("apps/v1", "Deployment")).toBe(schema);
    expect(get).not.toHaveBeenCalled();
    expect(schemas.selections).toEqual([]);
  });
});
