import { documentOf, parseComposition } from "@xfn/composition";
import type { FunctionRunner } from "@xfn/pipeline";
import { expect, test } from "vitest";
import { type CompositePort, limitsOf } from "../state/composite-port.ts";
import { requireSupported } from "./require-supported.ts";

const runner: FunctionRunner = { run: async () => new Uint8Array() };

type Step = { readonly functionRef: { readonly name: string } | { readonly package: string } };

function supported(settings: { functionRuntimes?: boolean }, step: Step, by: FunctionRunner | null = runner): void {
  const composition = parseComposition(
    documentOf({
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "apps" },
      spec: {
        compositeTypeRef: { apiVersion: "example.org/v1", kind: "App" },
        mode: "Pipeline",
        pipeline: [
          { step: "auto", functionRef: { name: "auto" } },
          { step: "run", ...step },
        ],
      },
    }),
  );
  const callers = { ...(by !== null && { runner: by }) } as CompositePort["callers"];
  const limits = limitsOf({ namespace: "xfn-system", pullSecretNamespaces: [], ...settings });
  requireSupported({ callers, limits }, composition);
}

test.each(["ghcr.io/acme/f:v1", "oci:/packages/f"])("the package %s needs its flag", (reference) => {
  const step = { functionRef: { package: reference } };
  expect(() => supported({}, step)).toThrow(
    expect.objectContaining({
      code: "FunctionsDisabled",
      message: expect.stringMatching(/^step "run" .*--enable-function-runtimes/),
    }),
  );
  expect(() => supported({ functionRuntimes: false }, step)).toThrow();
  expect(() => supported({ functionRuntimes: true }, step)).not.toThrow();
});

test("a Function does not", () => {
  expect(() => supported({}, { functionRef: { name: "f" } })).not.toThrow();
});

test("functions need theirs", () => {
  const step = { functionRef: { name: "f" } };
  expect(() => supported({ functionRuntimes: true }, step, null)).toThrow(
    expect.objectContaining({ code: "FunctionsDisabled" }),
  );
});
