import assert from "node:assert/strict";
import type { JsonObject } from "@xfn/json";
import type { ResourceKind } from "@xfn/kubernetes";
import {
  ACTIVATION_POLICIES,
  COMPOSITIONS,
  CONFIG_MAPS,
  CONFIGURATION_REVISIONS,
  CONFIGURATIONS,
  CRDS,
  FUNCTION_REVISIONS,
  FUNCTION_RUNTIMES,
  FUNCTIONS,
  MANAGED_DEFINITIONS,
  PROVIDER_REVISIONS,
  PROVIDER_RUNTIMES,
  PROVIDERS,
  REVISIONS,
} from "../kinds.ts";
import { controllerOf, textAt } from "../objects.ts";
import type { Actor, Scenario, Step } from "../scenario.ts";
import { all, composed, expectCondition, get, named, patch, remove, theX, xthing } from "./make.ts";

/** A kind of packages with objects, and that of its revisions. */
interface Kinds {
  readonly kind: ResourceKind;
  readonly revisionKind: ResourceKind;
  /** The kind of its objects. */
  readonly objects: ResourceKind;
}

const CONFIGURATION: Kinds = {
  kind: CONFIGURATIONS,
  revisionKind: CONFIGURATION_REVISIONS,
  objects: COMPOSITIONS,
};
const PROVIDER: Kinds = { kind: PROVIDERS, revisionKind: PROVIDER_REVISIONS, objects: MANAGED_DEFINITIONS };

const source = (actor: Actor, tag: string): string => `registry.example.org/${actor.id}/platform:${tag}`;

const thePackage = (actor: Actor, { kind }: Kinds, tag: string): JsonObject => ({
  ...named(actor, kind, "p"),
  spec: { package: source(actor, tag) },
});

const change = (name: string, kinds: Kinds, tag: string, expect: Step["expect"]): Step => ({
  name,
  act: async (actor) => patch(actor, await get(actor, kinds.kind, "p"), { spec: { package: source(actor, tag) } }),
  expect,
});

/** Checks the versions of a package's objects, which its active revision controls, and the states of its revisions. */
async function expectInstalled(
  actor: Actor,
  { kind, revisionKind, objects }: Kinds,
  tag: string,
  versions: Readonly<Record<string, string>>,
  ...states: readonly string[]
): Promise<void> {
  expectCondition(await get(actor, kind, "p"), "Installed", "True");
  const revisions = await all(actor, revisionKind);
  const found = revisions.map(
    (one) => `${String((one["spec"] as JsonObject)["revision"])} ${textAt(one, "spec", "desiredState")}`,
  );
  assert.deepEqual(found.toSorted(), states.toSorted());
  const active = revisions.find((one) => textAt(one, "spec", "desiredState") === "Active");
  const installed = await all(actor, objects);
  const version = (object: JsonObject): string | undefined => textAt(object, "metadata", "labels", "version");
  const known = installed.map((object) => [object.metadata.name.replaceAll(actor.id, ""), version(object)]);
  assert.deepEqual(Object.fromEntries(known), versions);
  for (const object of installed.filter((one) => version(one) === tag))
    assert.equal(textAt(controllerOf(object), "uid"), active?.metadata.uid);
}

async function expectNothingLeft(actor: Actor, ...kinds: readonly ResourceKind[]): Promise<void> {
  for (const kind of kinds)
    assert.deepEqual(
      (await all(actor, kind)).map(({ metadata }) => metadata.name),
      [],
      `${kind.kind}s are left`,
    );
}

async function expectComposed(actor: Actor): Promise<void> {
  expectCondition(await theX(actor), "Synced", "True");
  assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("version"), "data", "version"), "a");
}

/** Packages with objects and dependencies. */
export const INSTALLED: readonly Scenario[] = [
  {
    name: "a Configuration is installed with its function, upgraded and rolled back",
    steps: [
      {
        name: "install it",
        act: (actor) => actor.apply(thePackage(actor, CONFIGURATION, "a"), xthing(actor)),
        expect: async (actor) => {
          expectCondition(await get(actor, CONFIGURATIONS, "p"), "Healthy", "True");
          expectCondition(await get(actor, FUNCTIONS, "greeting"), "Healthy", "True");
          await expectInstalled(actor, CONFIGURATION, "a", { "-c": "a" }, "1 Active");
          await expectComposed(actor);
        },
      },
      change("upgrade", CONFIGURATION, "b", async (actor) => {
        await expectInstalled(actor, CONFIGURATION, "b", { "-c": "b", "-more": "b" }, "1 Inactive", "2 Active");
        await expectComposed(actor);
      }),
      change("roll back", CONFIGURATION, "a", async (actor) => {
        // An object that a version lacks stays until the Configuration goes.
        await expectInstalled(actor, CONFIGURATION, "a", { "-c": "a", "-more": "b" }, "2 Inactive", "3 Active");
        await expectComposed(actor);
      }),
      {
        name: "delete all but the function",
        act: async (actor) => {
          await remove(actor, await theX(actor));
          await remove(actor, await get(actor, CONFIGURATIONS, "p"));
        },
        expect: (actor) => expectNothingLeft(actor, CONFIGURATION_REVISIONS, COMPOSITIONS, REVISIONS, CONFIG_MAPS),
      },
      {
        // The garbage collector deletes the revisions of packages that are deleted together in any order.
        name: "delete the function",
        act: async (actor) => remove(actor, await get(actor, FUNCTIONS, "greeting")),
        expect: (actor) => expectNothingLeft(actor, FUNCTION_REVISIONS, FUNCTION_RUNTIMES),
      },
    ],
  },
  {
    name: "a Provider is installed, upgraded and deleted",
    steps: [
      {
        name: "install it",
        act: (actor) => actor.apply(thePackage(actor, PROVIDER, "a")),
        expect: async (actor) => {
          await expectInstalled(actor, PROVIDER, "a", { "buckets..example.org": "a" }, "1 Active");
          assert.equal((await all(actor, PROVIDER_RUNTIMES)).length, 1);
        },
      },
      change("upgrade", PROVIDER, "b", async (actor) => {
        await expectInstalled(actor, PROVIDER, "b", { "buckets..example.org": "b" }, "1 Inactive", "2 Active");
        assert.equal((await all(actor, PROVIDER_RUNTIMES)).length, 1);
      }),
      {
        name: "delete it",
        act: async (actor) => remove(actor, await get(actor, PROVIDERS, "p")),
        expect: (actor) => expectNothingLeft(actor, PROVIDER_REVISIONS, PROVIDER_RUNTIMES, MANAGED_DEFINITIONS, CRDS),
      },
    ],
  },
  {
    name: "a Provider with safe-start is installed, activated and deleted",
    steps: [
      {
        name: "install it",
        act: (actor) => actor.apply(thePackage(actor, PROVIDER, "e")),
        expect: async (actor) => {
          await expectInstalled(actor, PROVIDER, "e", { "buckets..example.org": "e" }, "1 Active");
          assert.deepEqual(await all(actor, CRDS), []);
        },
      },
      {
        name: "activate its kind",
        act: (actor) =>
          actor.apply({
            ...named(actor, ACTIVATION_POLICIES, "p"),
            spec: { activate: [`*.${actor.id}.example.org`] },
          }),
        expect: async (actor) => {
          const [definition] = await all(actor, MANAGED_DEFINITIONS);
          assert.ok(definition);
          expectCondition(definition, "Established", "True");
          const [crd] = await all(actor, CRDS);
          assert.ok(crd);
          assert.equal(controllerOf(crd)?.["uid"], controllerOf(definition)?.["uid"]);
        },
      },
      {
        name: "delete both",
        act: async (actor) => {
          await remove(actor, await get(actor, PROVIDERS, "p"));
          await remove(actor, await get(actor, ACTIVATION_POLICIES, "p"));
        },
        expect: (actor) => expectNothingLeft(actor, PROVIDER_REVISIONS, PROVIDER_RUNTIMES, MANAGED_DEFINITIONS, CRDS),
      },
    ],
  },
];
