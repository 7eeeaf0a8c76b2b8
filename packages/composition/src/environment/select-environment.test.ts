import type { JsonObject, KubernetesObject } from "@xfn/json";
import { describe, expect, test } from "vitest";
import type { Composition } from "../api/composition.ts";
import type { EnvironmentConfiguration, EnvironmentSelector, Patch } from "../api/template.ts";
import { documentValue } from "../field-path/value.ts";
import { compileTemplates } from "../templates/compile-templates.ts";
import { float64 } from "../values/go-value.ts";
import { EnvironmentError } from "./environment-error.ts";
import { selectEnvironment } from "./select-environment.ts";

const composite: KubernetesObject = {
  apiVersion: "example.org/v1",
  kind: "X",
  metadata: { name: "x" },
  spec: { stage: "prod", number: 3 },
};

function config(name: string, data: JsonObject, labels: { [key: string]: string } = {}): KubernetesObject {
  const apiVersion = "apiextensions.crossplane.io/v1alpha1";
  return { apiVersion, kind: "EnvironmentConfig", metadata: { name, labels }, data };
}

function composition(environment?: EnvironmentConfiguration): Composition {
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "c" },
    spec: {
      compositeTypeRef: { apiVersion: "example.org/v1", kind: "X" },
      resources: [],
      patchSets: [],
      functions: [],
      undesiredResources: "Keep",
      ...(environment && { environment }),
    },
  };
}

function select(environment: EnvironmentConfiguration, configs: KubernetesObject[], xr = composite): JsonObject {
  const selected = selectEnvironment(composition(environment), xr, configs) as JsonObject;
  const { apiVersion: _, kind: __, ...data } = selected;
  return documentValue(data) as JsonObject;
}

function code(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof EnvironmentError) return error.code;
    throw error;
  }
  throw new Error("expected an EnvironmentError");
}

const refs = (...names: string[]): EnvironmentConfiguration => ({
  environmentConfigs: names.map((name) => ({ type: "Reference", ref: { name } })),
});
const selector = (more: Partial<EnvironmentSelector>): EnvironmentConfiguration => ({
  environmentConfigs: [
    {
      type: "Selector",
      selector: {
        matchLabels: [{ key: "stage", type: "FromCompositeFieldPath", valueFromFieldPath: "spec.stage" }],
        ...more,
      },
    },
  ],
});

describe("selectEnvironment", () => {
  test("returns none if the Composition has no environment, and an empty one if it selects nothing", () => {
    expect(selectEnvironment(composition(), composite, [config("a", { x: 1 })])).toBeUndefined();
    expect(selectEnvironment(composition({}), composite, [config("a", { x: 1 })])).toEqual({
      apiVersion: "internal.crossplane.io/v1alpha1",
      kind: "Environment",
    });
  });

  test("merges EnvironmentConfigs deeply: later ones win, then earlier ones, then defaults", () => {
    const a = config("a", { net: { vpc: "1", mtu: 9000 }, list: [1, 2], who: "a" });
    const b = config("b", { net: { vpc: "2" }, list: [3], who: { deep: true } });
    const defaultData = { who: "default", net: { zone: "z" } };
    expect(select({ ...refs("a", "b"), defaultData }, [b, a])).toEqual({
      net: { vpc: "2", mtu: 9000, zone: "z" },
      list: [3],
      who: { deep: true },
    });
  });

  test("merges copies", () => {
    const a = config("a", { net: { vpc: "1" } });
    const environment = select(refs("a"), [a]);
    (environment["net"] as JsonObject)["vpc"] = "changed";
    expect(a["data"]).toEqual({ net: { vpc: "1" } });
  });

  test("a missing EnvironmentConfig is an error unless resolution is Optional", () => {
    expect(code(() => select(refs("a", "b"), [config("a", { x: 1 })]))).toBe("NotFound");
    expect(select({ ...refs("a", "b"), policy: { resolution: "Optional" } }, [config("a", { x: 1 })])).toEqual({
      x: 1,
    });
  });

  test("an XR's own EnvironmentConfigs win, unless resolve is Always", () => {
    const xr = { ...composite, spec: { environmentConfigRefs: [{ name: "mine" }] } };
    const configs = [config("mine", { from: "mine" }), config("a", { from: "a" })];
    expect(select(refs("a"), configs, xr)).toEqual({ from: "mine" });
    expect(select({ ...refs("a"), policy: { resolve: "Always" } }, configs, xr)).toEqual({ from: "a" });
  });

  test("hostile: keys such as __proto__ are data", () => {
    const data = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"x":1}}') as JsonObject;
    const environment = select(refs("a", "b"), [config("a", data), config("b", data)]);
    expect(JSON.stringify(environment)).toBe('{"__proto__":{"polluted":1},"constructor":{"x":1}}');
    expect(({} as JsonObject)["polluted"]).toBeUndefined();
  });
});

test("numbers are float64, as Go reads data, until a patch writes to the environment", () => {
  const configs = [config("a", { n: 1_000_000, deep: { list: [9007199254740993n] } })];
  const environment = selectEnvironment(composition(refs("a")), composite, configs) as JsonObject;
  expect(environment).toMatchObject({ n: float64(1_000_000), deep: { list: [9007199254740992] } });
  const xr = { ...composite, metadata: { name: "x", labels: { "crossplane.io/composite": "x" } } };
  const string = { fmt: "%v %d" };
  const variables = [{ fromFieldPath: "n" }, { fromFieldPath: "n" }];
  const spec = (...patches: Patch[]): JsonObject | undefined =>
    compileTemplates({
      environment: { patches },
      resources: [
        {
          name: "r",
          base: { apiVersion: "v1", kind: "R" },
          patches: [
            {
              type: "CombineFromEnvironment",
              combine: { variables, strategy: "string", string },
              toFieldPath: "spec.text",
            },
            { type: "FromEnvironmentFieldPath", fromFieldPath: "n", toFieldPath: "spec.n" },
          ],
        },
      ],
    }).render({ composite: xr, observed: new Map(), environment }).resources[0]?.resource?.["spec"] as JsonObject;
  expect(spec()).toEqual({ text: "1e+06 %!d(float64=1e+06)", n: 1_000_000 });
  const toEnvironment: Patch = { type: "FromCompositeFieldPath", fromFieldPath: "spec.stage", toFieldPath: "stage" };
  expect(spec(toEnvironment)).toEqual({ text: "1000000 1000000", n: 1_000_000 });
});

describe("selectors", () => {
  const prod = { stage: "prod" };

  test("match labels with fields of the XR and with given values", () => {
    const configs = [config("a", { x: "a" }, prod), config("b", { x: "b" }, { stage: "dev" })];
    expect(select(selector({}), configs)).toEqual({ x: "a" });
    const value = selector({ matchLabels: [{ key: "stage", type: "Value", value: "dev" }] });
    expect(select(value, configs)).toEqual({ x: "b" });
    const number = selector({ matchLabels: [{ key: "n", valueFromFieldPath: "spec.number" }] });
    expect(select(number, [config("n", { x: 3 }, { n: "3" })])).toEqual({ x: 3 });
  });

  test("of mode Single accept one match or none", () => {
    expect(select(selector({}), [])).toEqual({});
    expect(code(() => select(selector({}), [config("a", {}, prod), config("b", {}, prod)]))).toBe("Ambiguous");
  });

  test("of mode Multiple sort matches by name or another field, up to maxMatch", () => {
    const configs = ["c", "a", "b"].map((name, index) =>
      config(name, { last: name, [name]: index, order: index }, prod),
    );
    expect(select(selector({ mode: "Multiple" }), configs)).toMatchObject({ last: "c" });
    expect(select(selector({ mode: "Multiple", sortByFieldPath: "data.order" }), configs)).toMatchObject({ last: "b" });
    expect(select(selector({ mode: "Multiple", maxMatch: 2 }), configs)).toEqual({ a: 1, b: 2, last: "b", order: 2 });
    expect(select(selector({ mode: "Multiple", maxMatch: 9 }), configs)).toMatchObject({ last: "c" });
  });

  test("sort text by its UTF-8 bytes, as Go does", () => {
    // In UTF-16, the last of these precedes the second.
    const configs = ["\u{1f600}", "a", "\uff5e"].map((v, index) => config(`c${index}`, { v }, prod));
    expect(select(selector({ mode: "Multiple", sortByFieldPath: "data.v" }), configs)).toEqual({ v: "\u{1f600}" });
  });

  test("fail below minMatch", () => {
    expect(code(() => select(selector({ mode: "Multiple", minMatch: 1 }), []))).toBe("TooFew");
  });

  test("cannot sort by a field that is missing, has several types, or is neither text nor a number", () => {
    const sorted = (...values: (JsonObject | string | number)[]): (() => unknown) => {
      const configs = values.map((value, index) => config(`c${index}`, { v: value }, prod));
      return () => select(selector({ mode: "Multiple", sortByFieldPath: "data.v" }), configs);
    };
    expect(code(sorted("a", 1))).toBe("CannotSort");
    expect(code(sorted({}, {}))).toBe("CannotSort");
    expect(
      code(() => select(selector({ mode: "Multiple", sortByFieldPath: "data.nope" }), [config("a", {}, prod)])),
    ).toBe("CannotSort");
  });

  test("need the XR's field, unless it is optional: then the label is ignored", () => {
    const label = { key: "stage", valueFromFieldPath: "spec.nope" } as const;
    expect(code(() => select(selector({ matchLabels: [label] }), []))).toBe("NotFound");
    const optional = { ...label, fromFieldPathPolicy: "Optional" } as const;
    const team = { key: "team", type: "Value", value: "a" } as const;
    const configs = [config("a", { x: 1 }, { team: "a" })];
    expect(select(selector({ matchLabels: [optional, team] }), configs)).toEqual({ x: 1 });
    expect(select(selector({ matchLabels: [optional] }), configs)).toEqual({});
  });
});
