import { describe, expect, test } from "vitest";
import type { Composition } from "./composition.ts";
import { documentOf, parseComposition } from "./parse-composition.ts";
import { callsFunctions, isComplete, mapImages, packageStepsOf, stepsOf, traitsOf } from "./steps.ts";

const SECRET = { namespace: "ns", name: "keys" };
const REQUIRED = { requirementName: "all", apiVersion: "v1", kind: "ConfigMap" };

function compositionOf(spec: object): Composition {
  return parseComposition(
    documentOf({
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      spec: { compositeTypeRef: { apiVersion: "example.org/v1", kind: "App" }, ...spec },
    }),
  );
}

function pipelineOf(...steps: readonly object[]): Composition {
  return compositionOf({ mode: "Pipeline", pipeline: steps.map((step, index) => ({ step: `s${index}`, ...step })) });
}

const PACKAGE = {
  functionRef: { package: "a.b/p:v1" },
  credentials: [{ name: "cloud", source: "Secret", secretRef: SECRET }],
  requirements: { requiredResources: [REQUIRED] },
};
const CONTAINER = { io: "KRM", container: { image: "c", network: "Accessible", runner: { endpoint: "unix:///r" } } };
const WEBHOOK = { webhook: { url: "https://a/", credentials: { secretRef: SECRET } } };

describe("traits", () => {
  const traits = stepsOf(
    pipelineOf(PACKAGE, { functionRef: { name: "f" } }, CONTAINER, { wasm: { image: "w" } }, WEBHOOK),
  ).map(traitsOf);

  test("each type has its caller", () => {
    expect(traits.map(({ caller }) => caller)).toEqual(["functions", "functions", "runner", "runner", "webhooks"]);
  });

  test("a step names an image, a Function or a server", () => {
    expect(traits.map(({ target, image }) => [target, image])).toEqual([
      ["a.b/p:v1", "a.b/p:v1"],
      ["f", undefined],
      ["c", "c"],
      ["w", "w"],
      ["https://a/", undefined],
    ]);
    expect(traits.map(({ functionName }) => functionName)).toEqual([undefined, "f", undefined, undefined, undefined]);
  });

  test("a container names its runner and its network", () => {
    expect(traits[2]).toMatchObject({ endpoint: "unix:///r", isolation: "Accessible" });
    expect(traits.map(({ isolation }) => isolation !== undefined)).toEqual([true, true, true, true, false]);
  });

  test("FunctionIO functions have a form", () => {
    expect(traits.map(({ form }) => form)).toEqual([undefined, undefined, "KRM", "FunctionIO", "FunctionIO"]);
  });

  test("packages receive Secrets by name, and webhooks a token", () => {
    expect(traits.map(({ secrets }) => secrets)).toEqual([
      [{ name: "cloud", secretRef: SECRET }],
      [],
      [],
      [],
      [{ secretRef: SECRET }],
    ]);
    expect(traits.map(({ requires }) => requires)).toEqual([[REQUIRED], [], [], [], []]);
  });
});

describe("steps", () => {
  const functions = [{ name: "only", type: "Container", container: { image: "i" } }];

  test("those of the mode count, wherever else steps are written", () => {
    expect(stepsOf(compositionOf({ functions })).map(({ name }) => name)).toEqual(["only"]);
    expect(stepsOf(compositionOf({ functions, pipeline: [{ step: "other", ...CONTAINER }] }))).toHaveLength(1);
    expect(stepsOf(pipelineOf(PACKAGE, CONTAINER)).map(({ name }) => name)).toEqual(["s0", "s1"]);
    expect(packageStepsOf(pipelineOf(PACKAGE, CONTAINER)).map(({ name }) => name)).toEqual(["s0"]);
  });

  test("templates alone call no function, and are not complete", () => {
    const kinds = [compositionOf({}), compositionOf({ functions }), pipelineOf(PACKAGE)];
    expect(kinds.map(callsFunctions)).toEqual([false, true, true]);
    expect(kinds.map(isComplete)).toEqual([false, false, true]);
  });
});

describe("mapImages", () => {
  test("replaces images and pull policies of all steps that name images, and keeps the rest", () => {
    const given = pipelineOf(PACKAGE, { functionRef: { name: "f" } }, CONTAINER, WEBHOOK);
    const mapped = mapImages(given, (image) => ({ image: `new/${image}`, imagePullPolicy: "Never" }));
    const [pack, named, container, webhook] = stepsOf(given);
    expect(stepsOf(mapped)).toMatchObject([
      { ...pack, functionRef: { package: "new/a.b/p:v1" } },
      named,
      { ...container, container: { image: "new/c", imagePullPolicy: "Never", network: "Accessible" } },
      webhook,
    ]);
  });

  test("keeps steps and fields for which no change is given", () => {
    const given = pipelineOf(PACKAGE, { container: { image: "c", imagePullPolicy: "Always" } });
    expect(mapImages(given, () => undefined)).toEqual(given);
    expect(mapImages(given, () => ({ image: undefined, imagePullPolicy: undefined }))).toEqual(given);
  });

  test("passes the step of each image", () => {
    const seen: string[] = [];
    mapImages(compositionOf({ functions: [{ name: "only", type: "Wasm", wasm: { image: "w" } }] }), (image, step) => {
      seen.push(`${step.name} ${image}`);
      return undefined;
    });
    expect(seen).toEqual(["only w"]);
  });
});
