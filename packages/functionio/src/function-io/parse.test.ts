import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { json, object } from "../../test-support/arbitraries.ts";
import { both, failure, HEAD } from "../../test-support/parsing.ts";
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

  const entry = (fields: object): object => ({ desired: { resources: [{ name: "a", resource: {}, ...fields }] } });
  test.each<[string, object, string]>([
    ["another apiVersion", { apiVersion: "v1" }, "apiVersion"],
    ["another kind", { kind: "ResourceList" }, "kind"],
    ["config that is a list", { config: [] }, "config"],
    ["context that is a list", { context: [] }, "context"],
    ["desired that is text", { desired: "x" }, "desired"],
    ["resources that are an object", { desired: { resources: {} } }, "desired.resources"],
    ["an entry that is text", { desired: { resources: ["x"] } }, "desired.resources[0]"],
    ["an entry without a name", entry({ name: null }), "desired.resources[0].name"],
    ["an empty name", entry({ name: "" }), "desired.resources[0].name"],
    [
      "two entries of one name",
      {
        observed: {
          resources: [
            { name: "a", resource: {} },
            { name: "a", resource: {} },
          ],
        },
      },
      "observed.resources[1].name",
    ],
    ["an entry without a resource", { desired: { resources: [{ name: "a" }] } }, "desired.resources[0].resource"],
    [
      "an observed resource that is null",
      { observed: { resources: [{ name: "a", resource: null }] } },
      "observed.resources[0].resource",
    ],
    ["a kind that is a number", entry({ resource: { kind: 1 } }), "desired.resources[0].resource.kind"],
    ["metadata that is a list", entry({ resource: { metadata: [] } }), "desired.resources[0].resource.metadata"],
    [
      "a label that is a boolean",
      entry({ resource: { metadata: { labels: { "a.b/c": true } } } }),
      "desired.resources[0].resource.metadata.labels[a.b/c]",
    ],
    [
      "a composite detail without a value",
      { desired: { composite: { connectionDetails: [{ name: "a" }] } } },
      "desired.composite.connectionDetails[0].value",
    ],
    [
      "a composite detail from a field path",
      { desired: { composite: { connectionDetails: [{ name: "a", value: "b", type: "FromFieldPath" }] } } },
      "desired.composite.connectionDetails[0].type",
    ],
    [
      "a detail from nothing",
      entry({ connectionDetails: [{ name: "a" }] }),
      "desired.resources[0].connectionDetails[0]",
    ],
    [
      "a detail from two places",
      entry({ connectionDetails: [{ name: "a", value: "b", fromFieldPath: "c" }] }),
      "desired.resources[0].connectionDetails[0]",
    ],
    [
      "a detail of an unknown type",
      entry({ connectionDetails: [{ name: "a", type: "FromEnv", value: "b" }] }),
      "desired.resources[0].connectionDetails[0].type",
    ],
    [
      "a detail without its type's field",
      entry({ connectionDetails: [{ name: "a", type: "FromValue", fromFieldPath: "b" }] }),
      "desired.resources[0].connectionDetails[0].value",
    ],
    [
      "a field path detail without a name",
      entry({ connectionDetails: [{ fromFieldPath: "b" }] }),
      "desired.resources[0].connectionDetails[0].name",
    ],
    [
      "a readiness check without a type",
      entry({ readinessChecks: [{}] }),
      "desired.resources[0].readinessChecks[0].type",
    ],
    [
      "an unknown readiness check",
      entry({ readinessChecks: [{ type: "Never" }] }),
      "desired.resources[0].readinessChecks[0].type",
    ],
    [
      "NonEmpty without a field path",
      entry({ readinessChecks: [{ type: "NonEmpty" }] }),
      "desired.resources[0].readinessChecks[0].fieldPath",
    ],
    [
      "MatchInteger with a fraction",
      entry({ readinessChecks: [{ type: "MatchInteger", fieldPath: "a", matchInteger: 1.5 }] }),
      "desired.resources[0].readinessChecks[0].matchInteger",
    ],
    [
      "MatchCondition without a status",
      entry({ readinessChecks: [{ type: "MatchCondition", matchCondition: { type: "Ready" } }] }),
      "desired.resources[0].readinessChecks[0].matchCondition.status",
    ],
    ["a result that is text", { results: ["x"] }, "results[0]"],
    ["a message that is a number", { results: [{ severity: "Normal", message: 1 }] }, "results[0].message"],
  ])("refuses %s", (_name, value, path) => {
    for (const text of both(value)) {
      expect(failure(text).issues.map((issue) => issue.path)).toEqual([path]);
    }
  });

  test.each<[string, object]>([
    ["a detail whose name is its secret key", entry({ connectionDetails: [{ fromConnectionSecretKey: "user" }] })],
    [
      "a detail with a field that its type does not use",
      entry({ connectionDetails: [{ name: "a", type: "FromValue", value: "b", fromFieldPath: "" }] }),
    ],
    [
      "every readiness check",
      entry({
        readinessChecks: [
          { type: "NonEmpty", fieldPath: "a" },
          { type: "MatchString", fieldPath: "a", matchString: "" },
          { type: "MatchInteger", fieldPath: "a", matchInteger: 0 },
          { type: "MatchTrue", fieldPath: "a" },
          { type: "MatchFalse", fieldPath: "a" },
          { type: "MatchCondition", matchCondition: { type: "Ready", status: "True" } },
          { type: "None" },
        ],
      }),
    ],
    ["an unknown severity", { results: [{ severity: "Info", message: "x" }] }],
  ])("accepts %s", (_name, value) => {
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

  test("known fields come first, in the order of the seed", () => {
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
