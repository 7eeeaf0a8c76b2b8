import { expect, test } from "vitest";
import { printJsonPath } from "../harness/kubectl/json-path.ts";

const OBJECT = {
  metadata: { labels: { "pkg.org/name": "fn" } },
  spec: { replicas: 3, paused: false, map: { b: "<1>", a: [1, { z: null, y: "x" }] } },
  items: [
    { kind: "A", at: 1, message: "first" },
    { kind: "B", at: 2, message: "second" },
    { kind: "B", at: 3 },
  ],
  none: [],
};

// The output of kubectl. test/e2e/dev-cluster.cluster.test.ts compares other templates with it.
test.each([
  ["{.spec.replicas}", "3"],
  [".spec {.spec.paused}", ".spec false"],
  ["{.spec.map}", '{"a":[1,{"y":"x","z":null}],"b":"\\u003c1\\u003e"}'],
  ["{.metadata.labels.pkg\\.org/name}", "fn"],
  ["{.items[*].message}", "first second"],
  ["{.items[0].kind}{.items[-1:].at}", "A3"],
  ["{.items[?(@.kind=='B')].message}", "second"],
  ['{.items[?(@.kind == "A")].at}', "1"],
  ["{.items[?(@.at==2)].message}", "second"],
  ['{range .items[*]}{.kind}={.message}{"\\n"}{end}', "A=first\nB=second\nB=\n"],
  ["{.missing.field[*].name}", ""],
  ["{.none}", "[]"],
])("%s", (template, expected) => {
  expect(printJsonPath(template, OBJECT)).toBe(expected);
});

test.each([
  "{.items[9].kind}",
  "{..kind}",
  "{.items[0:2].kind}",
  "{range .items[*]}{.kind}",
  "{.items.kind}",
  "{.spec.map[*]}",
  "{.open",
])("%s is left to kubectl", (template) => {
  expect(() => printJsonPath(template, OBJECT)).toThrow(expect.objectContaining({ name: "NotImitated" }));
});
