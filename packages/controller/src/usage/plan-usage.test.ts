import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import type { Plan } from "../plan/plan.ts";
import { planEnd, planUnprotect, planUsage } from "./plan-usage.ts";

const FINALIZER = "usage.apiextensions.crossplane.io";
const ATTEMPT = "usage.crossplane.io/deletion-attempt-with-policy";

function usage(spec: JsonObject = {}, metadata: JsonObject = {}): LiveObject {
  const of = { apiVersion: "v1", kind: "ConfigMap", resourceRef: { name: "used" } };
  const by = { apiVersion: "v1", kind: "ConfigMap", resourceRef: { name: "using" } };
  return {
    apiVersion: "protection.crossplane.io/v1beta1",
    kind: "Usage",
    metadata: { name: "u", uid: "u", resourceVersion: "1", ...metadata },
    spec: { of, by, ...spec },
  } as LiveObject;
}

function object(name: string, metadata: JsonObject = {}): LiveObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, uid: name, resourceVersion: "1", ...metadata } };
}

function written({ stages }: Plan): unknown[] {
  return stages.flatMap(({ actions }) =>
    actions.map((action) => [
      action.do,
      action.on.name,
      action.do === "patch" ? action.body : action.do === "delete" ? action.propagation : undefined,
    ]),
  );
}

const PROTECTED = { labels: { "crossplane.io/in-use": "true" } };
const complete = {
  finalizers: [FINALIZER],
  annotations: { "crossplane.io/usage-details": "ConfigMap/using uses ConfigMap/used" },
  ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "using", uid: "using" }],
};

test("the usage gets its finalizer, text and owner before the used object gets its label", () => {
  const owners = [{ apiVersion: "example.org/v1", kind: "XR", name: "x", uid: "x", controller: true }];
  const plan = planUsage({
    usage: usage({}, { ownerReferences: owners }),
    chosen: ["of"],
    used: object("used"),
    using: object("using"),
  });
  expect(written(plan)).toEqual([
    [
      "patch",
      "u",
      {
        metadata: { ...complete, ownerReferences: [...owners, ...complete.ownerReferences] },
        spec: { of: { resourceRef: { name: "used" } } },
      },
    ],
    ["patch", "used", { metadata: PROTECTED }],
  ]);
});

test("nothing is written if everything is as it must be", () => {
  const used = object("used", PROTECTED);
  expect(written(planUsage({ usage: usage({}, complete), chosen: [], used, using: object("using") }))).toEqual([]);
});

test("the owner is another object if the using object was replaced by one with its name", () => {
  const using = object("using", { uid: "another" });
  const [[, , body]] = written(
    planUsage({ usage: usage({}, complete), chosen: [], used: object("used", PROTECTED), using }),
  ) as [[string, string, JsonObject]];
  expect(body).toMatchObject({ metadata: { ownerReferences: [{ uid: "using" }, { uid: "another" }] } });
});

const RELEASE = ["patch", "u", { metadata: { finalizers: ["other"] } }];
const ending = usage({ replayDeletion: true }, { finalizers: ["other", FINALIZER] });

function ended(of: LiveObject, used: LiveObject | undefined, isStillUsed: boolean): unknown[] {
  const first = used === undefined || isStillUsed ? [] : written(planUnprotect(of, used));
  return [...first, ...written(planEnd({ usage: of, used, isStillUsed }))];
}

test.each<[string, LiveObject | undefined, boolean, unknown[]]>([
  ["its object does not exist", undefined, false, []],
  ["another usage protects the object", object("used", PROTECTED), true, []],
  [
    "another usage protects the object since it lost its label",
    object("used", { annotations: { [ATTEMPT]: "Background" } }),
    true,
    [["patch", "used", { metadata: PROTECTED }]],
  ],
  [
    "no deletion was denied",
    object("used", PROTECTED),
    false,
    [["patch", "used", { metadata: { labels: { "crossplane.io/in-use": null } } }]],
  ],
  [
    "a deletion was denied",
    object("used", { ...PROTECTED, annotations: { [ATTEMPT]: "Foreground" } }),
    false,
    [
      ["patch", "used", { metadata: { labels: { "crossplane.io/in-use": null } } }],
      ["delete", "used", "Foreground"],
    ],
  ],
  [
    "it was interrupted before the deletion",
    object("used", { annotations: { [ATTEMPT]: "Orphan" } }),
    false,
    [["delete", "used", "Orphan"]],
  ],
  [
    "the object is being deleted",
    object("used", { deletionTimestamp: "2026-01-01T00:00:00Z", annotations: { [ATTEMPT]: "Background" } }),
    false,
    [["patch", "used", { metadata: { annotations: { [ATTEMPT]: null } } }]],
  ],
  ["the policy is not one of Kubernetes", object("used", { annotations: { [ATTEMPT]: "Now" } }), false, []],
])("a usage ends, and %s", (_, used, isStillUsed, writes) => {
  expect(ended(ending, used, isStillUsed)).toEqual([...writes, RELEASE]);
});

test("without replayDeletion nothing is deleted", () => {
  const used = object("used", { ...PROTECTED, annotations: { [ATTEMPT]: "Background" } });
  expect(ended(usage({}, { finalizers: ["other", FINALIZER] }), used, false)).toEqual([
    ["patch", "used", { metadata: { labels: { "crossplane.io/in-use": null }, annotations: { [ATTEMPT]: null } } }],
    RELEASE,
  ]);
});
