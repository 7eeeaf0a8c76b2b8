import { expect, test } from "vitest";
import { inputPaths, refuseSecondStdin } from "./input-paths.ts";
import type { RenderOptions } from "./render-options.ts";

const files = { xr: "xr.yaml", composition: "composition.yaml" };

test.each<[string, Partial<typeof files & { functions: string }>, Partial<RenderOptions>]>([
  ["XR and COMPOSITION", { xr: "-", composition: "-" }, {}],
  ["XR and FUNCTIONS", { xr: "-", functions: "-" }, {}],
  ["XR and --observed-resources", { xr: "-" }, { observedResources: "-" }],
  ["COMPOSITION and --xrd", { composition: "-" }, { xrd: "-" }],
  ["XR and --environment", { xr: "-" }, { environment: ["prod.yaml", "-"] }],
  ["XR and --required-resources", { xr: "-" }, { requiredResources: ["-"] }],
  ["XR and --extra-resources", { xr: "-" }, { extraResources: ["-"] }],
  ["XR and --function-credentials", { xr: "-" }, { functionCredentials: "-" }],
  ["XR and --context-files", { xr: "-" }, { contextFiles: ["a=b", "key=-"] }],
  ["--required-resources and --context-files", {}, { requiredResources: ["-"], contextFiles: ["key=-"] }],
  ["two --required-resources", {}, { requiredResources: ["-", "-"] }],
])("%s cannot both be stdin", (both, given, options) => {
  const check = (): void => refuseSecondStdin(inputPaths({ ...files, ...given }, { timeout: 1, ...options }));
  expect(check).toThrow(expect.objectContaining({ code: "Usage", message: expect.stringContaining(`${both} are`) }));
});

test("one input can be stdin", () => {
  for (const options of [{}, { requiredResources: ["a"], contextFiles: ["-=b", "c=d=-"] }])
    expect(() => refuseSecondStdin(inputPaths({ ...files, xr: "-" }, { timeout: 1, ...options }))).not.toThrow();
});
