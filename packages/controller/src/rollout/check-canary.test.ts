import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { checkCanary } from "./check-canary.ts";

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

interface Xr {
  readonly created?: number;
  readonly synced?: string;
  /** The code of its failure. */
  readonly code?: string;
  readonly ready?: string;
  readonly since?: number;
  readonly revision?: string;
  readonly observed?: number;
}

function xr(name: string, given: Xr = {}): LiveObject {
  const { created = 0, synced = "True", code = "x", ready = "True", since = 150, revision = "new" } = given;
  const reason = "ReconcileError";
  const message = `${code}: a cause`;
  const rest = { lastTransitionTime: at(since), observedGeneration: given.observed ?? 2 };
  return {
    apiVersion: "example.org/v1",
    kind: "XThing",
    metadata: { name, uid: name, resourceVersion: "1", generation: 2, creationTimestamp: at(created) },
    spec: { compositionRevisionRef: { name: revision } },
    status: {
      conditions: [
        { type: "Synced", status: synced, reason, message, ...rest },
        { type: "Ready", status: ready, reason, message, ...rest },
      ],
    },
  };
}

const check = (xrs: readonly LiveObject[], now = 201, maxFailures = 0) =>
  checkCanary({
    xrs,
    layout: { isLegacy: true } as Parameters<typeof checkCanary>[0]["layout"],
    revision: "new",
    since: 100_000,
    until: 200_000,
    now: now * 1000,
    maxFailures,
  }).verdict;

test.each<[string, Xr, number, string]>([
  ["is ready at the end", {}, 201, "Passed"],
  ["is ready before the end", {}, 199, "Wait"],
  ["is unready before the end", { ready: "False" }, 199, "Wait"],
  ["is unready at the end", { ready: "False" }, 201, "Failed"],
  ["is not synced at the end", { synced: "False" }, 201, "Failed"],
  ["could not be written because of an outage", { synced: "False", code: "ApiServer" }, 201, "Wait"],
  ["could not be written for a minute", { synced: "False", code: "ApiServer" }, 261, "Failed"],
  ["has a fatal result", { synced: "False", code: "FatalResult" }, 101, "Failed"],
  [
    "has a fatal result before it names the revision",
    { synced: "False", code: "FatalResult", revision: "old" },
    101,
    "Failed",
  ],
  ["does not use the revision yet", { revision: "old" }, 201, "Wait"],
  ["has conditions from before it used the revision", { observed: 1 }, 201, "Wait"],
  ["was unready before", { ready: "False", since: 50 }, 201, "Wait"],
  ["is newer than the canary", { created: 150, ready: "False" }, 201, "Wait"],
])("an XR that %s: %#", (_, given, now, verdict) => {
  expect(check([xr("a", given)], now)).toBe(verdict);
});

test("some may fail", () => {
  const xrs = [xr("a", { ready: "False" }), xr("b"), xr("c", { ready: "False" })];
  expect(check(xrs, 201, 1)).toBe("Failed");
  expect(check(xrs, 201, 2)).toBe("Passed");
});
