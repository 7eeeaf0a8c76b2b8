import { invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import restart from "./function.ts";

const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "shop" } };

test("restarts the Deployment by an annotation of its pods", async () => {
  const { desired, operationOutput, fatal } = await invoke(restart, {
    config: { reason: "CHG-1" },
    pipeline: { resources: { deployment: [deployment] } },
  });
  expect(fatal).toBe(undefined);
  expect(desired["deployment"]).toMatchObject({
    ...deployment,
    spec: { template: { metadata: { annotations: { "example.org/restarted-for": "CHG-1" } } } },
  });
  expect(operationOutput).toEqual({ restarted: "shop/web" });
});

test("fails without a Deployment", async () => {
  const { desired, fatal } = await invoke(restart, {
    config: { reason: "CHG-1" },
    pipeline: { resources: { deployment: [] } },
  });
  expect(fatal).toContain("does not exist");
  expect(desired).toEqual({});
});
