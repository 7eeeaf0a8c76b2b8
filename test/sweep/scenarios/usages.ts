import assert from "node:assert/strict";
import type { JsonObject } from "@xfn/json";
import { APPS, CONFIG_MAPS, GROUP, USAGES } from "../kinds.ts";
import { at } from "../objects.ts";
import type { Actor, Scenario } from "../scenario.ts";
import { all, composed, composition, expectCondition, get, named, patch, remove } from "./make.ts";

/** The annotation that the webhook sets when it denies a deletion. The sweep has no webhook. */
const ATTEMPT = { "usage.crossplane.io/deletion-attempt-with-policy": "Background" };

/** A Usage of the ConfigMap `used` that repeats a denied deletion. @param by the ConfigMap that uses it, or a reason */
function usage(actor: Actor, name: string, by: { using: string } | { reason: string }): JsonObject {
  const reference = (object: string): JsonObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    resourceRef: { name: `${actor.id}-${object}` },
  });
  const cause = "using" in by ? { by: reference(by.using) } : by;
  return { ...named(actor, USAGES, name), spec: { of: reference("used"), replayDeletion: true, ...cause } };
}

/** A template of a ConfigMap with its name as the label `role`. */
function labelled(role: string): JsonObject {
  const base = { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: { role } } };
  return { name: role, base, readinessChecks: [{ type: "None" }] };
}

const selected = (role: string): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  resourceSelector: { matchControllerRef: true, matchLabels: { role } },
});

const COMPOSED_USAGE: JsonObject = {
  name: "usage",
  base: {
    apiVersion: "protection.crossplane.io/v1beta1",
    kind: USAGES.kind,
    spec: { of: selected("used"), by: selected("using"), replayDeletion: true },
  },
};

async function expectProtected(actor: Actor, ...usages: readonly string[]): Promise<void> {
  const used = await get(actor, CONFIG_MAPS, "used");
  assert.equal(at(used, "metadata", "labels", "crossplane.io/in-use"), "true");
  assert.equal(used?.metadata["deletionTimestamp"], undefined);
  const found = await all(actor, USAGES);
  assert.deepEqual(
    found.map(({ metadata }) => metadata.name).toSorted(),
    usages.map((name) => `${actor.id}-${name}`),
  );
  for (const one of found) expectCondition(one, "Ready", "True");
}

async function expectNothing(actor: Actor): Promise<void> {
  for (const kind of [APPS, USAGES, CONFIG_MAPS])
    assert.deepEqual(
      (await all(actor, kind)).map(({ metadata }) => metadata.name),
      [],
      `${kind.kind}s are left`,
    );
}

/** Usages, from the protection of an object to its deletion. */
export const USES: readonly Scenario[] = [
  {
    name: "a used object whose deletion was denied",
    steps: [
      {
        name: "protect it twice",
        act: (actor) =>
          actor.apply(
            named(actor, CONFIG_MAPS, "used"),
            named(actor, CONFIG_MAPS, "using"),
            usage(actor, "a", { using: "using" }),
            usage(actor, "b", { reason: "audit" }),
          ),
        expect: (actor) => expectProtected(actor, "a", "b"),
      },
      {
        name: "delete it, which is denied, and the object that uses it",
        act: async (actor) => {
          await patch(actor, await get(actor, CONFIG_MAPS, "used"), { metadata: { annotations: ATTEMPT } });
          await remove(actor, await get(actor, CONFIG_MAPS, "using"));
        },
        expect: (actor) => expectProtected(actor, "b"),
      },
      {
        name: "delete the last usage",
        act: async (actor) => remove(actor, await get(actor, USAGES, "b")),
        expect: expectNothing,
      },
    ],
  },
  {
    name: "an XR that composes a Usage",
    steps: [
      {
        name: "create it",
        act: (actor) =>
          actor.apply(
            composition(actor, {
              resources: [labelled("used"), labelled("using"), COMPOSED_USAGE],
              spec: { compositeTypeRef: { apiVersion: `${GROUP}/v1`, kind: APPS.kind } },
            }),
            { ...named(actor, APPS, "app"), spec: { crossplane: { compositionRef: { name: `${actor.id}-c` } } } },
          ),
        expect: async (actor) => {
          expectCondition(await get(actor, APPS, "app"), "Ready", "True");
          const found = await composed(actor, CONFIG_MAPS);
          assert.equal(at(found.get("used"), "metadata", "labels", "crossplane.io/in-use"), "true");
        },
      },
      {
        name: "delete it",
        act: async (actor) => remove(actor, await get(actor, APPS, "app")),
        expect: expectNothing,
      },
    ],
  },
];
