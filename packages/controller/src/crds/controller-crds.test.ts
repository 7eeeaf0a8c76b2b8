import { expect, test } from "vitest";
import { controllerCrds } from "./controller-crds.ts";

test("options add CRDs and change none, so that deploy/chart/crds/core.yaml takes no field from a controller with options", () => {
  const base = controllerCrds();
  const all = controllerCrds({ packages: true, functionRuntimes: true });
  expect(all.length).toBeGreaterThan(base.length);
  expect(all.slice(0, base.length)).toEqual(base);
});

test("a label has the version of the program", () => {
  expect(controllerCrds({ version: "1.2.3" })[0]?.metadata?.labels).toEqual({
    "app.kubernetes.io/part-of": "xfn",
    "app.kubernetes.io/version": "1.2.3",
  });
});

test("rules name properties with reserved words as all API servers do: __package__", () => {
  const crds = JSON.stringify(controllerCrds({ packages: true, functionRuntimes: true }));
  expect(crds).toContain("self.__package__");
  const words = "as|break|const|continue|else|for|function|if|import|let|loop|namespace|package|return";
  expect(crds).not.toMatch(new RegExp(`"rule":"[^"]*\\.(?:${words})\\b`));
});
