import { converge, invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import webApp from "./function.ts";

const fixed = { metadata: { name: "shop" }, spec: { namespace: "web", image: "shop:1" } };
const scaled = { ...fixed, spec: { ...fixed.spec, maxReplicas: 10 } };
const autoscaler = { apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler" };

test("an application with maxReplicas has an autoscaler", async () => {
  const { desired } = await invoke(webApp, { xr: scaled });
  expect(desired["autoscaler"]).toMatchObject({ ...autoscaler, spec: { maxReplicas: 10 } });
});

test("an application without maxReplicas has no autoscaler", async () => {
  const { desired } = await invoke(webApp, { xr: fixed });
  expect(Object.keys(desired)).toEqual(["deployment"]);
});

test("an existing autoscaler is deleted", async () => {
  const { desired } = await invoke(webApp, { xr: fixed, observed: { autoscaler } });
  expect(desired["autoscaler"]).toBeNull();
});

test("desires the same for any existing resources", async () => {
  await expect(converge(webApp, { xr: scaled })).resolves.toMatchObject({ rounds: 1 });
});
