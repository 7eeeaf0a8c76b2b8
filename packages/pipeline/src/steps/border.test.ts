import type { State as FunctionState } from "@xfn/function-grpc";
import type { Desired, DesiredResource } from "@xfn/functionio";
import { expect, test } from "vitest";
import { bucket, changes } from "../../testing/fixtures.ts";
import { run } from "../../testing/packages.ts";
import type { InProcessFunction } from "../in-process.ts";
import { desiredState, takeDesired } from "./border.ts";
import { START } from "./step.ts";

const NOTHING: FunctionState = { resources: new Map() };
const bytes = (text: string): Uint8Array => Buffer.from(text);

test("the response of a package is in the order of names: a map on the wire has none", () => {
  const connectionDetails = new Map(["b", "a"].map((name) => [name, bytes(name)]));
  const resources = new Map(["b", "a"].map((name) => [name, { resource: bucket() }]));
  const { desired } = takeDesired(
    { desired: { composite: { resource: {}, connectionDetails }, resources } },
    {},
    START.hints,
    NOTHING,
  );
  expect(desired.resources?.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(desired.composite?.connectionDetails?.map(({ name }) => name)).toEqual(["a", "b"]);
});

test("a connection detail keeps its byte order mark", () => {
  const composite = { resource: {}, connectionDetails: new Map([["a", bytes("\uFEFFtext")]]) };
  const { desired } = takeDesired({ desired: { composite, resources: new Map() } }, {}, START.hints, NOTHING);
  expect(desired.composite?.connectionDetails).toEqual([{ name: "a", value: "\uFEFFtext" }]);
});

test("the next package receives the connection details that a package gave an entry", () => {
  const details = new Map([["key", bytes("value")]]);
  const resources = new Map([["a", { resource: bucket(), connectionDetails: details }]]);
  const { desired, hints } = takeDesired({ desired: { resources } }, {}, START.hints, NOTHING);
  expect(desiredState(desired, hints, {}).resources.get("a")?.connectionDetails).toEqual(details);
});

test("packages receive what readiness checks say, also about what does not exist or cannot be determined", () => {
  const entry = (name: string, check: NonNullable<DesiredResource["readinessChecks"]>[number]): DesiredResource => ({
    name,
    resource: bucket(),
    readinessChecks: [check],
  });
  const isUp = { type: "MatchTrue", fieldPath: "status.up" } as const;
  const desired: Desired = {
    resources: [entry("new", { type: "None" }), entry("missing", isUp), entry("odd", isUp), entry("up", isUp)],
  };
  const observed = {
    resources: [
      { name: "odd", resource: bucket({ status: { up: "yes" } }) },
      { name: "up", resource: bucket({ status: { up: true } }) },
    ],
  };
  const { resources } = desiredState(desired, START.hints, observed);
  expect([...resources].map(([name, { ready }]) => [name, ready])).toEqual([
    ["new", true],
    ["missing", false],
    ["odd", false],
    ["up", true],
  ]);
});

test("an entry that a FunctionIO step deleted and another desires again has the readiness of its checks", async () => {
  const entry = { name: "a", resource: bucket() };
  const ready = bucket({ metadata: { name: "live" }, status: { conditions: [{ type: "Ready", status: "True" }] } });
  const desires = (resource: DesiredResource): InProcessFunction =>
    changes((io) => void (io.desired = { resources: [resource] }));
  const { unready } = await run(
    [
      { step: "denies", handler: () => ({ desired: { resources: new Map([["a", { ...entry, ready: false }]]) } }) },
      { step: "deletes", io: desires({ name: "a", resource: null }) },
      { step: "revives", io: desires(entry) },
    ],
    { observed: [{ name: "a", resource: ready }] },
  );
  expect(unready).toEqual([]);
});
