import { SYSTEM_CONDITIONS } from "@xfn/functionio";
import { expect, test } from "vitest";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { emptyMemory } from "../state/composite-memory.ts";
import { conditionsOf, planStatus } from "./plan-status.ts";

test("a function cannot set the conditions of the controller, whichever kind of step it is in", () => {
  const types = [...SYSTEM_CONDITIONS, "BucketReady"];
  const conditions = types.map((type) => ({ type, status: "True", reason: "Done" }));
  expect(conditionsOf({ status: { conditions } }).map(({ type }) => type)).toEqual(["BucketReady"]);
});

// Crossplane's next apply under the name of the status would remove the time, and fail.
test.each([
  ["Crossplane 1 gives up the time of publishing, and writes it apart", true, ["patch", "apply", "patch status"]],
  ["Crossplane 2 may have a field connectionDetails of its own", false, ["apply"]],
])("the status of XRs of %s", (_, isLegacy, writes) => {
  const xr = {
    apiVersion: "example.org/v1",
    kind: "XThing",
    metadata: {
      name: "xr",
      uid: "uid-xr",
      resourceVersion: "1",
      managedFields: [
        {
          manager: FIELD_MANAGERS.composite,
          operation: "Apply",
          subresource: "status",
          apiVersion: "example.org/v1",
          fieldsV1: { "f:status": { "f:connectionDetails": { "f:lastPublishedTime": {} }, "f:size": {} } },
        },
      ],
    },
    status: { connectionDetails: { lastPublishedTime: "then" }, size: 1 },
  };
  const { applies } = emptyMemory("uid-xr", () => 0);
  const input = { xr, applies, layout: { isLegacy }, conditions: [], desired: { status: { size: 2 } }, now: 0 };
  const [stage] = planStatus({ ...input, published: true }).stages;
  expect(
    stage?.actions.map((action) =>
      [action.do, ...(action.do === "patch" && action.part ? [action.part] : [])].join(" "),
    ),
  ).toEqual(writes);
  const [first] = stage?.actions ?? [];
  const given = [{ fieldsV1: { "f:status": { "f:size": {} } } }];
  if (isLegacy) expect(first).toMatchObject({ body: { metadata: { managedFields: given } } });
});
