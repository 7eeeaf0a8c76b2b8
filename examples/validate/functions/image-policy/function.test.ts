import { invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import imagePolicy from "./function.ts";

const config = { allowedRegistries: ["registry.example.org", "mirror.example.org"] };
const pod = (image: string) => ({ apiVersion: "v1", kind: "Pod", spec: { containers: [{ name: "app", image }] } });
const deployment = (image: string) => ({ apiVersion: "apps/v1", kind: "Deployment", spec: { template: pod(image) } });

test("accepts images of allowed registries, and changes nothing", async () => {
  const desired = { a: pod("registry.example.org/a:1"), b: deployment("mirror.example.org/b:1"), c: null };
  const result = await invoke(imagePolicy, { config, desired });
  expect(result.desired).toEqual(desired);
  expect(result.results).toEqual([]);
});

test.each(["docker.io/someone/report:latest", "report", "registry.example.org.evil.example/report:1"])(
  "%s is refused",
  async (image) => {
    const { fatal } = await invoke(imagePolicy, { config, desired: { report: deployment(image) } });
    expect(fatal).toBe(`report: the image ${image} is not from registry.example.org or mirror.example.org`);
  },
);

test("checks init containers too", async () => {
  const desired = {
    report: { apiVersion: "v1", kind: "Pod", spec: { initContainers: [{ name: "init", image: "x" }] } },
  };
  const { fatal } = await invoke(imagePolicy, { config, desired });
  expect(fatal).toContain("the image x is not from");
});
