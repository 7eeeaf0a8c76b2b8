import { converge, invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import fn from "./function.ts";

const xr = { metadata: { name: "hello" }, spec: { names: ["ada", "grace"] } };

test("composes a ConfigMap for each name", async () => {
  const { desired, composite } = await invoke(fn, { xr });
  expect(Object.keys(desired)).toEqual(["greeting-ada", "greeting-grace"]);
  expect(composite?.["status"]).toEqual({ count: 2 });
});

test("desires the same for any existing resources", async () => {
  await expect(converge(fn, { xr })).resolves.toMatchObject({ rounds: 1 });
});
