import { expect, test } from "vitest";
import { checkCompatible } from "./compatibility.ts";

const check =
  (crossplane: string | undefined, version?: string): (() => void) =>
  () =>
    checkCompatible({ crossplane }, "a.b/c:v1", version);

test.each([undefined, ">=v1.14.0-0", "^2", ">=1.17.0, <3"])("a package for %s is for this API", (crossplane) => {
  expect(check(crossplane)).not.toThrow();
});

test.each(["<v2.0.0", ">=v99", "1.x"])("a package for %s is not", (crossplane) => {
  expect(check(crossplane)).toThrow(
    expect.objectContaining({ code: "Incompatible", field: "spec.crossplane.version" }),
  );
});

test("the version can be another", () => {
  expect(check("<v2.0.0", "v1.20.1")).not.toThrow();
  expect(check("*", "unknown")).toThrow(expect.objectContaining({ code: "Incompatible" }));
});
