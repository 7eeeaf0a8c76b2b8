import assert from "node:assert/strict";
import { documentOf } from "@xfn/composition";
import { checkDefinition, claimCrd, compositeCrd } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/json";
import { mutatedValue, vectorInputs } from "../mutate.ts";
import { type Target, target } from "../target.ts";
import { assertClean } from "./field-path.ts";

/** Checks definitions, and converts even wrong ones to CRDs. */
export const definition: Target = target<JsonObject>({
  input: mutatedValue(vectorInputs("xrd-crd").map(({ xrd }) => xrd as JsonObject)),
  run: (input) => {
    try {
      const { definition: valid, findings } = checkDefinition(documentOf(input));
      assert.equal(
        valid === undefined,
        findings.some(({ severity }) => severity === "error"),
      );
      assert.equal(compositeCrd(input)["kind"], "CustomResourceDefinition");
      claimCrd(input);
    } finally {
      assertClean();
    }
  },
});
