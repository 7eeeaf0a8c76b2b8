import { type Combine, compileCombine, compileTransforms, type Transform } from "@xfn/composition";
import type { Adapter } from "../adapter.ts";
import { fromTyped, toTyped } from "../typed-value.ts";

/** Runs a patch's transforms on one value, or a Combine on several. Values are compared with their Go types. */
export const transforms: Adapter = {
  run: (vector) => {
    const { combine, inputs, input, transforms: list } = vector;
    if (combine === undefined) return toTyped(compileTransforms(list as unknown as Transform[])(fromTyped(input)));
    return toTyped(compileCombine(combine as unknown as Combine)((inputs as unknown[]).map(fromTyped)));
  },
  // The texts of equal numbers may differ (1e+20).
  expected: (vector) =>
    vector["error"] === undefined
      ? { output: toTyped(fromTyped(vector["output"])) }
      : { error: String(vector["error"]) },
};
