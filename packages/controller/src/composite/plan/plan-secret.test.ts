import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { ApplyCache } from "../../objects/apply-cache.ts";
import type { Plan } from "../../plan/plan.ts";
import type { ActorName } from "../state/composite-actors.ts";
import { planSecret } from "./plan-secret.ts";

const xr: LiveObject = {
  apiVersion: "example.org/v1",
  kind: "XThing",
  metadata: { name: "xr", uid: "uid-xr", resourceVersion: "1" },
};
const former = { apiVersion: "example.org/v1", kind: "XThing", name: "xr", uid: "uid-before", controller: true };

/** The plan for an existing connection secret with this controller. */
function plan(controller: object): Plan<ActorName> {
  const metadata = {
    name: "s",
    namespace: "n",
    uid: "uid-s",
    resourceVersion: "7",
    ownerReferences: [{ ...controller }],
  };
  const observed = { apiVersion: "v1", kind: "Secret", metadata, type: "connection.crossplane.io/v1alpha1" };
  const secret = { name: "s", namespace: "n" };
  return planSecret({ xr, secret, details: [["user", "u"]], observed, applies: new ApplyCache() });
}

test("a connection secret of the XR's predecessor is adopted, and none of another owner", () => {
  expect(plan(former).stages[0]?.actions).toMatchObject([
    { do: "patch", guard: "version", body: { metadata: { ownerReferences: [] } } },
    { do: "apply", guard: "version", intent: { metadata: { ownerReferences: [{ uid: "uid-xr" }] } } },
  ]);
  expect(() => plan({ ...former, name: "other" })).toThrow(expect.objectContaining({ code: "NotControllable" }));
});
