import { type Combine, compileCombine, compileTransforms, type Transform } from "@xfn/composition";
import type { Adapter } from "../adapter.ts";
import { fromTyped, toTyped } from "../typed-value.ts";

/** A patch's list of transforms on one value, or a Combine on several. Values carry their Go type and are compared with it. */
export const transforms: Adapter = {
  run: (vector) => {
    const { combine, inputs, input, transforms: list } = vector;
    if (combine === undefined) return toTyped(compileTransforms(list as unknown as Transform[])(fromTyped(input)));
    return toTyped(compileCombine(combine as unknown as Combine)((inputs as unknown[]).map(fromTyped)));
  },
  // The reference's text of a number (1e+20) and ours may differ where the number does not.
  expected: (vector) =>
    vector["error"] === undefined
      ? { output: toTyped(fromTyped(vector["output"])) }
      : { error: String(vector["error"]) },
};
