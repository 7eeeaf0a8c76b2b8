import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { json, object } from "../../testing/arbitraries.ts";
import { ACCEPTED, REFUSED } from "../../testing/documents.ts";
import { both, failure, HEAD } from "../../testing/parsing.ts";
import type { FunctionIO } from "./functionio.ts";
import { parseFunctionIO } from "./parse.ts";
import { printFunctionIO } from "./print.ts";

describe("validation", () => {
  test("names every issue at once, with path, line and column", () => {
    const error = failure(
      `kind: FunctionIO
observed: []
desired:
  resources:
  - resource: {}
  - name: a
  - name: a
    resource: 1
results:
- severity: Fatal
`,
      { source: "out.yaml" },
    );
    expect(error.code).toBe("Invalid");
    expect(error.retryable).toBe(false);
    expect(error.issues.map(({ path, line, column }) => [path, line, column])).toEqual([
      ["apiVersion", 1, 1],
      ["observed", 2, 1],
      ["desired.resources[0].name", 5, 5],
      ["desired.resources[1].resource", 6, 5],
      ["desired.resources[2].name", 7, 5],
      ["desired.resources[2].resource", 8, 5],
      ["results[0].message", 10, 3],
    ]);
    expect(error.message.split("\n")[0]).toMatch(/^out\.yaml:1:1: apiVersion: /);
  });

  test("positions in JSON are those of the key", () => {
    const error = failure(
      '{\n  "apiVersion": "apiextensions.crossplane.io/v1alpha1",\n  "kind": "FunctionIO",\n  "desired": {"resources": [\n    {"name": 7, "resource": null}\n  ]}\n}',
    );
    expect(error.issues).toMatchObject([{ path: "desired.resources[0].name", line: 5, column: 6 }]);
  });

  test.each(REFUSED)("refuses %s", (_name, value, path) => {
    for (const text of both(value)) {
      expect(failure(text).issues.map((issue) => issue.path)).toEqual([path]);
    }
  });

  test.each(ACCEPTED)("accepts %s", (_name, value) => {
    for (const text of both(value)) expect(() => parseFunctionIO(text)).not.toThrow();
  });

  test("empty fields as Go prints them are dropped, but a null resource is kept", () => {
    const io = parseFunctionIO(
      `${HEAD}config: null
observed: {composite: {resource: null, connectionDetails: null}, resources: null}
desired:
  composite: null
  resources: [{name: a, resource: null, connectionDetails: null, readinessChecks: null}]
results: null
`,
    );
    expect(JSON.parse(printFunctionIO(io))).toEqual({
      apiVersion: "apiextensions.crossplane.io/v1alpha1",
      kind: "FunctionIO",
      observed: { composite: {} },
      desired: { resources: [{ name: "a", resource: null }] },
    });
  });

  test("a missing observed is empty, a result without a severity is a warning", () => {
    const io = parseFunctionIO(`${HEAD}results: [{message: x}]`);
    expect(io.observed).toEqual({});
    expect(io.results).toEqual([{ severity: "Warning", message: "x" }]);
  });

  test("apiVersion and kind may both be missing only where the caller says so", () => {
    expect(failure("observed: {}").code).toBe("Invalid");
    expect(parseFunctionIO("observed: {}", { untyped: true }).kind).toBe("FunctionIO");
    expect(failure("kind: FunctionIO", { untyped: true }).issues[0]?.path).toBe("apiVersion");
  });
});

describe("round trips", () => {
  test("JSON: parse(print(x)) is x, unknown fields included", () => {
    fc.assert(
      fc.property(object(json), (unknown) => {
        const io = {
          ...unknown,
          apiVersion: "apiextensions.crossplane.io/v1alpha1",
          kind: "FunctionIO",
          observed: {},
        } as unknown as FunctionIO;
        delete io.desired;
        delete io.results;
        delete io.config;
        expect(parseFunctionIO(printFunctionIO(io))).toEqual(io);
      }),
      { numRuns: 300 },
    );
  });

  test("known fields come first, in the order of the design", () => {
    const io = parseFunctionIO(
      `results: []\nx: 1\ndesired: {}\nobserved: {}\nconfig: {}\nkind: FunctionIO\n${HEAD.split("\n")[0]}\n`,
    );
    expect(Object.keys(JSON.parse(printFunctionIO(io)) as object)).toEqual([
      "apiVersion",
      "kind",
      "config",
      "observed",
      "desired",
      "results",
      "x",
    ]);
    expect(printFunctionIO(io)).not.toContain("\n");
  });
});
