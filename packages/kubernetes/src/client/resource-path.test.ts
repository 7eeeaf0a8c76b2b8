import { expect, test } from "vitest";
import { namingProblem } from "./resource-path.ts";

const REFERENCE = { apiVersion: "example.org/v1", kind: "Thing", name: "a", namespace: "b" };

test.each([
  [{ name: "a/b" }, 'name "a/b"'],
  [{ name: "%2e%2e" }, 'name "%2e%2e"'],
  [{ name: ".." }, 'name ".."'],
  [{ name: "" }, 'name ""'],
  [{ namespace: "../c" }, 'namespace "../c"'],
  [{ apiVersion: "a/b/c" }, 'apiVersion "a/b/c"'],
])("no URL can name an object with %o", (part, field) => {
  expect(namingProblem({ ...REFERENCE, ...part })).toContain(field);
});

test.each([{}, { namespace: undefined }, { name: "a.b_C:d" }, { apiVersion: "v1" }])(
  "a URL can name an object with %o",
  (part) => {
    expect(namingProblem({ ...REFERENCE, ...part })).toBeUndefined();
  },
);
