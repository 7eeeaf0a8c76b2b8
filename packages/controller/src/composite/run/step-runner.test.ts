import { type Composition, documentOf, parseComposition } from "@xfn/composition";
import type { FunctionRunner } from "@xfn/pipeline";
import { expect, test } from "vitest";
import { stepRunner } from "./step-runner.ts";

function composition(...endpoints: readonly (string | undefined)[]): Composition {
  const functions = endpoints.map((endpoint, index) => ({
    name: `f${index}`,
    type: "Container",
    container: { image: "f", ...(endpoint !== undefined && { runner: { endpoint } }) },
  }));
  return parseComposition(
    documentOf({
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "apps" },
      spec: { compositeTypeRef: { apiVersion: "example.org/v1", kind: "App" }, functions },
    }),
  );
}

function runner(name: string, ran: string[]): FunctionRunner {
  return {
    maxOutputBytes: 7,
    run: async (_, __, options) => {
      ran.push(`${name} ${options?.step ?? ""}`);
      return new Uint8Array();
    },
  };
}

test("a step runs at the runner that it names, the others at the controller's own", async () => {
  const ran: string[] = [];
  const own = runner("own", ran);
  const runners = { at: (endpoint: string) => (endpoint === "a:1" ? runner("a", ran) : undefined) };
  const chosen = stepRunner({ runners }, composition(undefined, "a:1"), own);
  for (const step of ["f0", "f1"]) await chosen.run("f", new Uint8Array(), { step });
  expect(ran).toEqual(["own f0", "a f1"]);
  expect(chosen.maxOutputBytes).toBe(7);
  expect(stepRunner({ runners }, composition(undefined), own)).toBe(own);
});

test("a runner that is not allowed is refused with the step, the endpoint and the way out", () => {
  const own = runner("own", []);
  for (const runners of [undefined, { at: () => undefined }])
    expect(() => stepRunner({ runners }, composition(undefined, "evil:1"), own)).toThrow(
      expect.objectContaining({
        code: "RunnerNotAllowed",
        message: expect.stringMatching(/"f1" of the Composition apps .*"evil:1".*--allowed-runners/),
      }),
    );
});
