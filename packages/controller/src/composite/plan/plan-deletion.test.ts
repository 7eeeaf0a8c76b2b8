import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { FINALIZER_COMPOSITE } from "../../objects/finalizers.ts";
import type { Plan } from "../../plan/plan.ts";
import type { ActorName } from "../state/composite-actors.ts";
import { planDeletion, planRelease } from "./plan-deletion.ts";

const object = (kind: string, name: string, metadata: JsonObject = {}): LiveObject => ({
  apiVersion: "example.org/v1",
  kind,
  metadata: { name, uid: `uid-${name}`, resourceVersion: "1", ...metadata },
});
const xr = object("XThing", "xr", { finalizers: ["another", FINALIZER_COMPOSITE] });
const controlledBy = (uid: string): JsonObject => ({
  ownerReferences: [{ apiVersion: "example.org/v1", kind: "XThing", name: "xr", uid, controller: true }],
});
const actionsOf = ({ stages }: Plan<ActorName>): string[] =>
  stages.flatMap(({ actions }) => actions.map(({ do: verb, on, as }) => `${verb} ${on.kind} ${on.name} as ${as}`));

describe("the deletion of composed resources", () => {
  const going = object("Widget", "going", { ...controlledBy("uid-xr"), deletionTimestamp: "2026-01-01T00:00:00Z" });
  const foreign = object("Widget", "foreign", controlledBy("other"));
  const free = object("Widget", "free");
  const own = object("Widget", "own", controlledBy("uid-xr"));

  test("has those alone that the XR controls and that are not being deleted", () => {
    const plan = planDeletion(xr, [going, foreign, free, own]);
    expect(actionsOf(plan)).toEqual(["delete Widget own as composition"]);
    expect([plan.deleting, plan.retained]).toEqual([[going], [foreign, free]]);
  });

  test("leaves a usage until the object that uses another is gone", () => {
    const [reference] = controlledBy("uid-xr")["ownerReferences"] as [JsonObject];
    const usage = {
      ...object("Usage", "usage", {
        ownerReferences: [reference, { kind: "Widget", name: "going", uid: "uid-going" }],
      }),
      apiVersion: "protection.crossplane.io/v1beta1",
    };
    expect(actionsOf(planDeletion(xr, [usage, going]))).toEqual([]);
    expect(actionsOf(planDeletion(xr, [usage]))).toEqual(["delete Usage usage as composition"]);
  });

  test("requires the UID and the version that were seen, and collects failures", () => {
    const [stage] = planDeletion(xr, [own], "Foreground").stages;
    expect(stage).toMatchObject({ onFailure: "collect", actions: [{ guard: "version", propagation: "Foreground" }] });
  });
});

describe("the release of an XR", () => {
  const secret = object("Secret", "details", controlledBy("uid-xr"));

  test("deletes its Secret before it removes its finalizer, and leaves the finalizers of others", () => {
    const plan = planRelease(xr, { secret });
    expect(actionsOf(plan)).toEqual(["delete Secret details as xr", "patch XThing xr as xr"]);
    expect(plan.stages.map(({ onFailure }) => onFailure)).toEqual(["stop", "stop"]);
    expect(plan.stages[1]?.actions[0]).toMatchObject({
      body: { metadata: { finalizers: ["another"] } },
      guard: "version",
    });
  });

  test("keeps the finalizer while composed resources remain", () => {
    expect(actionsOf(planRelease(xr, { secret, keepsFinalizer: true }))).toEqual(["delete Secret details as xr"]);
  });

  test("leaves the Secret of another owner", () => {
    const foreign = object("Secret", "details", controlledBy("other"));
    expect(actionsOf(planRelease(xr, { secret: foreign }))).toEqual(["patch XThing xr as xr"]);
  });

  test("has the controller's own rights if those of the account are gone", () => {
    expect(actionsOf(planRelease(xr, { as: "own" }))).toEqual(["patch XThing xr as own"]);
  });
});
