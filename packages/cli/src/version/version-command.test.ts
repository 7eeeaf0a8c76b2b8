import { expect, test } from "vitest";
import { skewOf } from "./version-command.ts";

test.each([
  ["0.1.0", "0.1.7", undefined],
  ["0.1.0", undefined, undefined],
  ["0.1.0", "0.2.0", "xfn 0.1.0 and xfn-controller 0.2.0 differ; use the same minor version of both"],
  ["1.1.0", "0.1.0", "xfn 1.1.0 and xfn-controller 0.1.0 differ; use the same minor version of both"],
])("xfn %s with xfn-controller %s", (client, controller, skew) => {
  expect(skewOf({ client, ...(controller !== undefined && { controller }) })).toBe(skew);
});
