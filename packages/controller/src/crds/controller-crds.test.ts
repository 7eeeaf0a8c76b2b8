import { expect, test } from "vitest";
import { controllerCrds } from "./controller-crds.ts";

test("options add CRDs and change none, so that deploy/base/crds.yaml takes no field from a controller with options", () => {
  const base = controllerCrds();
  const all = controllerCrds({ packages: true, functionRuntimes: true });
  expect(all.length).toBeGreaterThan(base.length);
  expect(all.slice(0, base.length)).toEqual(base);
});
