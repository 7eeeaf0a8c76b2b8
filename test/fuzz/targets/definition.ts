import assert from "node:assert/strict";
import { claimCrd, compositeCrd } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/functionio";
import { mutatedValue, vectorInputs } from "../mutate.ts";
import { type Target, target } from "../target.ts";
import { assertClean } from "./field-path.ts";

/** CRDs of a definition that nobody has checked. */
export const definition: Target = target<JsonObject>({
  input: mutatedValue(vectorInputs("xrd-crd").map(({ xrd }) => xrd as JsonObject)),
  run: (input) => {
    try {
      assert.equal(compositeCrd(input)["kind"], "CustomResourceDefinition");
      claimCrd(input);
    } finally {
      assertClean();
    }
  },
});
