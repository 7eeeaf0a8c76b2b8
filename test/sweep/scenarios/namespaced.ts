import assert from "node:assert/strict";
import type { JsonObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { APPS, CONFIG_MAPS, GROUP, NAMESPACE } from "../kinds.ts";
import { at, objectsAt, textAt } from "../objects.ts";
import type { Actor, Scenario } from "../scenario.ts";
import { all, composed, composition, expectCondition, expectEntries, get, named, patch, remove } from "./make.ts";

const theApp = (actor: Actor): Promise<LiveObject | undefined> => get(actor, APPS, "app");

/** A ConfigMap whose template names no namespace. */
const settings = (name: string): JsonObject => ({
  name,
  base: { apiVersion: "v1", kind: "ConfigMap" },
  patches: [{ type: "FromCompositeFieldPath", fromFieldPath: "spec.size", toFieldPath: "data.size" }],
  readinessChecks: [{ type: "None" }],
});

const compositionOf = (actor: Actor, ...entries: readonly string[]): JsonObject =>
  composition(actor, {
    resources: entries.map(settings),
    spec: { compositeTypeRef: { apiVersion: `${GROUP}/v1`, kind: "App" } },
  });

/** XRs with the scope Namespaced, whose references are in spec.crossplane. */
export const NAMESPACED: readonly Scenario[] = [
  {
    name: "a namespaced XR",
    steps: [
      {
        name: "create it",
        act: (actor) =>
          actor.apply(compositionOf(actor, "a", "b"), {
            ...named(actor, APPS, "app"),
            spec: { size: "small", crossplane: { compositionRef: { name: `${actor.id}-c` } } },
          }),
        expect: async (actor) => {
          const app = await theApp(actor);
          expectCondition(app, "Ready", "True");
          assert.equal(objectsAt(app, "spec", "crossplane", "resourceRefs").length, 2);
          assert.equal(at(app, "spec", "resourceRefs"), undefined);
          for (const one of (await composed(actor, CONFIG_MAPS)).values())
            assert.equal(one.metadata.namespace, NAMESPACE);
        },
      },
      {
        name: "change it, and remove a template",
        act: async (actor) => {
          await actor.apply(compositionOf(actor, "a"));
          await patch(actor, await theApp(actor), { spec: { size: "large" } });
        },
        expect: async (actor) => {
          await expectEntries(actor, CONFIG_MAPS, "a");
          assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("a"), "data", "size"), "large");
        },
      },
      {
        name: "delete it",
        act: async (actor) => remove(actor, await theApp(actor)),
        expect: async (actor) => {
          for (const kind of [APPS, CONFIG_MAPS]) assert.deepEqual(await all(actor, kind), []);
        },
      },
    ],
  },
];
