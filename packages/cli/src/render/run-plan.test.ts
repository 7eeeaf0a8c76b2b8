import { parseComposition } from "@xfn/composition";
import { readDocuments } from "@xfn/json/document";
import type { FunctionRunner } from "@xfn/pipeline";
import { expect, test } from "vitest";
import { SILENT } from "../../testing/run-xfn.ts";
import type { RenderInputs } from "./render-inputs.ts";
import type { RenderOptions } from "./render-options.ts";
import { type Rendered, runPlan } from "./run-plan.ts";

const COMPOSITION = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  functions:
  - {name: one, type: Container, container: {image: one}}
  - {name: two, type: Container, container: {image: two}}
`;
const ENTRY = { name: "a", resource: { apiVersion: "v1", kind: "ConfigMap" } };

/** Renders with functions that answer `answers` in turn. */
function rendered(
  answers: readonly object[],
  options: Partial<RenderOptions> = {},
  keyWarnings: RenderInputs["keyWarnings"] = () => [],
): Promise<Rendered> {
  const [document] = readDocuments(COMPOSITION);
  if (document === undefined) throw new Error("no document");
  const left = [...answers];
  const runner: FunctionRunner = {
    run: async () =>
      new TextEncoder().encode(
        JSON.stringify({ apiVersion: "apiextensions.crossplane.io/v1alpha1", kind: "FunctionIO", ...left.shift() }),
      ),
  };
  const composite = { apiVersion: "example.org/v1", kind: "XThing", metadata: { name: "a" }, spec: { size: 1 } };
  const sources = { composition: parseComposition(document), functions: [], built: new Set<string>() };
  return runPlan({
    inputs: { ...sources, composite, observed: [], keyWarnings },
    endpoints: {
      callers: { runner },
      begin: () => undefined,
      stderrOf: () => undefined,
      run: async (render) => await render(),
    },
    options: { timeout: 60_000, ...options },
    output: SILENT,
    interrupt: new AbortController().signal,
  });
}

test("a warning names its step once", async () => {
  const { notes } = await rendered([
    { observed: {}, desired: { resources: [ENTRY] }, results: [{ severity: "Warning", message: "small" }] },
    { observed: {} },
  ]);
  expect(notes).toEqual([
    'xfn: warning: step "one": small',
    expect.stringMatching(/^xfn: warning: step "two" dropped the desired resource "a"/),
  ]);
});

test("after a fatal result, prints the unsynced XR and requested results, but no composed resources", async () => {
  const answers = [
    { observed: {}, desired: { resources: [ENTRY] } },
    { observed: {}, desired: { resources: [ENTRY] }, results: [{ severity: "Fatal", message: "too small" }] },
  ];
  const { product, notes, isFatal } = await rendered(answers, { includeFunctionResults: true });
  expect({ notes, isFatal }).toEqual({ notes: ['xfn: fatal: step "two": too small'], isFatal: true });
  const kinds = readDocuments(product).map(({ value }) => (value as { kind?: unknown }).kind);
  expect(kinds).toEqual(["XThing", "Result"]);
  expect(product).toContain('step "two" returned a fatal result: too small');
  expect(readDocuments((await rendered(answers)).product)).toHaveLength(1);
});

test("connection keys are checked after the run, against what functions exposed", async () => {
  const entry = { ...ENTRY, connectionDetails: [{ fromConnectionSecretKey: "password" }] };
  const composite = { connectionDetails: [{ name: "host", value: "db" }] };
  const answer = { observed: {}, desired: { composite, resources: [entry] } };
  const { notes } = await rendered([answer, answer], {}, (exposed) => [`exposed: ${exposed.join(", ")}`]);
  expect(notes[0]).toBe("xfn: warning: exposed: host, password");
});
