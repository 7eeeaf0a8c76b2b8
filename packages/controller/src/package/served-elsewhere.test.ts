import { ApiError } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { servedElsewhere } from "./served-elsewhere.ts";

const crd = (plural: string) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.example.org` },
  spec: { group: "example.org", names: { kind: "Another", plural }, versions: [{ name: "v1alpha1" }, { name: "v1" }] },
});
const client = {
  raw: async (_: string, path: string) => {
    if (path !== "/apis/example.org/v1") throw new ApiError("NotFound", "nothing is there", { status: 404 });
    return {
      resources: [
        { name: "policies", kind: "Policy" },
        { name: "policies/status", kind: "Policy" },
      ],
    };
  },
};
const { signal } = new AbortController();

test("a kind that an aggregated API serves has no CRD of a package, even with another kind or other versions", async () => {
  expect(await servedElsewhere(client, crd("policies"), signal)).toBe("example.org/v1");
});

test("other kinds, and other objects, are served nowhere else", async () => {
  expect(await servedElsewhere(client, crd("others"), signal)).toBeUndefined();
  expect(await servedElsewhere(client, { ...crd("policies"), kind: "Composition" }, signal)).toBeUndefined();
});

test("an API server that does not answer says nothing about kinds", async () => {
  const down = { raw: () => Promise.reject(new ApiError("Unreachable", "it is down")) };
  await expect(servedElsewhere(down, crd("others"), signal)).rejects.toMatchObject({ code: "Unreachable" });
});
