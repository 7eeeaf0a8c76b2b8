import { converge, invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import namespace from "./function.ts";

const config = { sizes: { small: { cpu: "4", memory: "16Gi" }, large: { cpu: "32", memory: "128Gi" } } };
const team = (size: string) => ({ metadata: { name: "payments" }, spec: { size } });

test("composes a namespace of the size that the Composition configures", async () => {
  const { desired } = await invoke(namespace, { xr: team("large"), config });
  expect(desired["namespace"]).toMatchObject({ metadata: { name: "payments" } });
  expect(desired["quota"]).toMatchObject({ spec: { hard: { "limits.cpu": "32", "limits.memory": "128Gi" } } });
});

test.each(["huge", "constructor"])("rejects the unconfigured size %s", async (size) => {
  const { fatal } = await invoke(namespace, { xr: team(size), config });
  expect(fatal).toBe(`spec.size: ${size} is not one of small, large`);
});

test("the error of an invalid config names the field", async () => {
  const wrong = { sizes: { small: { cpu: 4, memory: "16Gi" } } } as unknown as typeof config;
  const { fatal } = await invoke(namespace, { xr: team("small"), config: wrong });
  expect(fatal).toContain("config.sizes.small.cpu");
});

test("desires the same for any existing resources", async () => {
  await expect(converge(namespace, { xr: team("small"), config })).resolves.toMatchObject({ rounds: 1 });
});
