import { parseComposition } from "@xfn/composition";
import { readDocuments } from "@xfn/json/document";
import type { FunctionPackage } from "@xfn/pipeline/packages";
import { expect, test } from "vitest";
import { stepNetworkHint } from "./network-of-step.ts";

const NAMED = "functions have no network unless";
const CONTAINER = "container: {image: i}";
const ACCESSIBLE = "container: {image: i, network: Accessible}";
const PACKAGE = "functionRef: {name: f}";

function hint(spec: string, message: string, functions: readonly FunctionPackage[] = []): string | undefined {
  const [document] = readDocuments(`apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  ${spec}`);
  if (document === undefined) throw new Error("no document");
  return stepNetworkHint({ composition: parseComposition(document), functions }, "a", [undefined, message]);
}

const pipeline = (step: string): string => `mode: Pipeline\n  pipeline: [{step: a, ${step}}]`;

test.each([
  ["functions[]", `functions: [{name: a, type: Container, ${CONTAINER}}]`, `${NAMED} the step's container`],
  ["a container step", pipeline(CONTAINER), `${NAMED} the step's container`],
  ["a package", pipeline(PACKAGE), `${NAMED} they are programs that you start`],
])("a function of %s that looked for the network gets the way out", (_, spec, expected) => {
  for (const message of ["getaddrinfo EAI_AGAIN example.org", "TypeError: fetch failed"])
    expect(hint(spec, message)).toContain(expected);
  expect(hint(spec, "too small")).toBeUndefined();
});

test("a step with a network gets none", () => {
  expect(hint(pipeline(ACCESSIBLE), "fetch failed")).toBeUndefined();
  expect(hint(pipeline(PACKAGE), "fetch failed", [{ name: "f", target: "localhost:9443" }])).toBeUndefined();
});
