import assert from "node:assert/strict";
import type { JsonObject } from "@xfn/json";
import {
  COMPOSITIONS,
  CONFIG_MAPS,
  FUNCTION_REVISIONS,
  FUNCTION_RUNTIMES,
  FUNCTIONS,
  REVISIONS,
  XTHINGS,
} from "../kinds.ts";
import { objectsAt, textAt } from "../objects.ts";
import type { Actor, Scenario, Step } from "../scenario.ts";
import { all, composed, composition, expectCondition, get, named, patch, remove, theX, xthing } from "./make.ts";

const source = (actor: Actor, tag: string): string => `registry.example.org/${actor.id}/greeting:${tag}`;

const theFunction = (actor: Actor, tag: string): JsonObject => ({
  ...named(actor, FUNCTIONS, "fn"),
  spec: { package: source(actor, tag) },
});

const pipeline = (functionRef: JsonObject): { spec: JsonObject } => ({
  spec: { mode: "Pipeline", pipeline: [{ step: "only", functionRef }] },
});

async function expectVersion(actor: Actor, version: string): Promise<void> {
  expectCondition(await theX(actor), "Synced", "True");
  assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("version"), "data", "version"), version);
}

/** The states of the Function's revisions, in the order of their numbers. */
async function expectStates(actor: Actor, ...states: readonly string[]): Promise<void> {
  const revisions = await all(actor, FUNCTION_REVISIONS);
  const found = revisions.map(
    (one) => `${JSON.stringify((one["spec"] as JsonObject)["revision"])} ${textAt(one, "spec", "desiredState")}`,
  );
  assert.deepEqual(found.toSorted(), states.toSorted());
}

async function expectRuntimes(actor: Actor, count: number): Promise<void> {
  const runtimes = await all(actor, FUNCTION_RUNTIMES);
  assert.equal(runtimes.length, count);
  for (const one of runtimes) {
    expectCondition(one, "Healthy", "True");
    assert.notDeepEqual(objectsAt(one, "metadata", "ownerReferences"), []);
  }
}

const install = (name: string, tag: string, expect: Step["expect"]): Step => ({
  name,
  act: async (actor) => patch(actor, await get(actor, FUNCTIONS, "fn"), { spec: { package: source(actor, tag) } }),
  expect: async (actor) => {
    expectCondition(await get(actor, FUNCTIONS, "fn"), "Healthy", "True");
    await expectVersion(actor, tag);
    await expect(actor);
  },
});

async function expectNothingLeft(actor: Actor): Promise<void> {
  for (const kind of [FUNCTION_REVISIONS, FUNCTION_RUNTIMES, REVISIONS, CONFIG_MAPS])
    assert.deepEqual(
      (await all(actor, kind)).map(({ metadata }) => metadata.name),
      [],
      `${kind.kind}s are left`,
    );
}

/** A Composition whose version reaches first the XRs with a label. */
const inSteps = (actor: Actor, tag: string): JsonObject => {
  const { spec } = pipeline({ package: source(actor, tag) });
  const canary = { matchLabels: { canary: "yes" } };
  return composition(actor, {
    spec: { ...spec, rollout: { shadow: { composites: 1 }, canary, analysis: { duration: "1ms" } } },
  });
};

const labelled = (actor: Actor, name: string, canary: string): JsonObject => {
  const { metadata } = named(actor, XTHINGS, name);
  return { ...xthing(actor), metadata: { ...metadata, labels: { canary } } };
};

/** The versions of the XRs x and y. */
async function expectVersions(actor: Actor, ...versions: readonly string[]): Promise<void> {
  const maps = await all(actor, CONFIG_MAPS);
  for (const [index, name] of ["x", "y"].entries()) {
    expectCondition(await get(actor, XTHINGS, name), "Ready", "True");
    const own = maps.find(
      (one) => textAt(one, "metadata", "labels", "crossplane.io/composite") === `${actor.id}-${name}`,
    );
    assert.equal(textAt(own, "data", "version"), versions[index]);
  }
}

/** The numbers of the revisions, and the phases of their rollouts. */
async function expectPhases(actor: Actor, ...phases: readonly string[]): Promise<void> {
  const found = (await all(actor, REVISIONS)).map((one) => {
    const { revision } = one["spec"] as JsonObject;
    return `${String(revision)} ${textAt(one, "status", "rollout", "phase")}`;
  });
  assert.deepEqual(found.toSorted(), phases.toSorted());
}

/** Packages: install, upgrade, rollback, and runtimes that several objects share. */
export const PACKAGES: readonly Scenario[] = [
  {
    name: "a Function is installed, upgraded and rolled back",
    steps: [
      {
        name: "install it",
        act: (actor) =>
          actor.apply(theFunction(actor, "a"), composition(actor, pipeline({ name: `${actor.id}-fn` })), xthing(actor)),
        expect: async (actor) => {
          expectCondition(await get(actor, FUNCTIONS, "fn"), "Installed", "True");
          expectCondition(await get(actor, FUNCTIONS, "fn"), "Healthy", "True");
          await expectVersion(actor, "a");
          await expectStates(actor, "1 Active");
          await expectRuntimes(actor, 1);
        },
      },
      install("upgrade", "b", async (actor) => {
        await expectStates(actor, "1 Inactive", "2 Active");
        await expectRuntimes(actor, 1);
      }),
      install("upgrade again, beyond the history", "c", (actor) => expectStates(actor, "2 Inactive", "3 Active")),
      install("roll back", "b", (actor) => expectStates(actor, "3 Inactive", "4 Active")),
      {
        name: "delete all",
        act: async (actor) => {
          await remove(actor, await theX(actor));
          await remove(actor, await get(actor, COMPOSITIONS, "c"));
          await remove(actor, await get(actor, FUNCTIONS, "fn"));
        },
        expect: expectNothingLeft,
      },
    ],
  },
  {
    name: "a Function and a Composition share a runtime",
    steps: [
      {
        name: "use a package by its reference, and install it",
        act: (actor) =>
          actor.apply(
            composition(actor, pipeline({ package: source(actor, "a") })),
            xthing(actor),
            theFunction(actor, "a"),
          ),
        expect: async (actor) => {
          await expectVersion(actor, "a");
          await expectRuntimes(actor, 1);
          const [runtime] = await all(actor, FUNCTION_RUNTIMES);
          assert.equal(objectsAt(runtime, "metadata", "ownerReferences").length, 2);
        },
      },
      {
        name: "delete the Function",
        act: async (actor) => remove(actor, await get(actor, FUNCTIONS, "fn")),
        expect: async (actor) => {
          await expectVersion(actor, "a");
          await expectRuntimes(actor, 1);
        },
      },
      {
        name: "delete the rest",
        act: async (actor) => {
          await remove(actor, await theX(actor));
          await remove(actor, await get(actor, COMPOSITIONS, "c"));
        },
        expect: expectNothingLeft,
      },
    ],
  },
  {
    name: "a version is rolled out in shadow, then to a canary",
    steps: [
      {
        name: "use a version",
        act: (actor) => actor.apply(inSteps(actor, "a"), labelled(actor, "x", "yes"), labelled(actor, "y", "no")),
        expect: (actor) => expectVersions(actor, "a", "a"),
      },
      {
        name: "roll out one that works",
        act: (actor) => actor.apply(inSteps(actor, "b")),
        expect: async (actor) => {
          await expectPhases(actor, "1 undefined", "2 Complete");
          await expectVersions(actor, "b", "b");
          // The unused revision has given its runtime up.
          await expectRuntimes(actor, 1);
        },
      },
      {
        name: "roll out one that is never ready",
        act: (actor) => actor.apply(inSteps(actor, "d")),
        expect: async (actor) => {
          await expectPhases(actor, "1 undefined", "2 Complete", "3 RolledBack");
          await expectVersions(actor, "b", "b");
          await expectRuntimes(actor, 2);
        },
      },
      {
        name: "return to the first",
        act: (actor) => actor.apply(inSteps(actor, "a")),
        expect: async (actor) => {
          await expectPhases(actor, "2 Complete", "3 RolledBack", "4 undefined");
          await expectVersions(actor, "a", "a");
          await expectRuntimes(actor, 1);
        },
      },
      {
        name: "delete all",
        act: async (actor) => {
          for (const name of ["x", "y"]) await remove(actor, await get(actor, XTHINGS, name));
          await remove(actor, await get(actor, COMPOSITIONS, "c"));
        },
        expect: expectNothingLeft,
      },
    ],
  },
];
