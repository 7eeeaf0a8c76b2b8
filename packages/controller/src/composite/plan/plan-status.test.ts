import { SYSTEM_CONDITIONS } from "@xfn/functionio";
import { expect, test } from "vitest";
import { conditionsOf } from "./plan-status.ts";

test("a function cannot set the conditions of the controller, whichever kind of step it is in", () => {
  const types = [...SYSTEM_CONDITIONS, "BucketReady"];
  const conditions = types.map((type) => ({ type, status: "True", reason: "Done" }));
  expect(conditionsOf({ status: { conditions } }).map(({ type }) => type)).toEqual(["BucketReady"]);
});
