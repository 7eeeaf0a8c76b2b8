import assert from "node:assert/strict";
import type { JsonObject } from "@xfn/json";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import { APPS, COMPOSER, CONFIG_MAPS, GROUP, GUARDS, NAMESPACE } from "../kinds.ts";
import { at, objectsAt, textAt } from "../objects.ts";
import type { Actor, Scenario } from "../scenario.ts";
import { all, composed, composition, expectCondition, expectEntries, get, named, patch, remove } from "./make.ts";

const theApp = (actor: Actor, kind: ResourceKind): Promise<LiveObject | undefined> => get(actor, kind, "app");

/** A ConfigMap whose template names no namespace. */
const settings = (name: string): JsonObject => ({
  name,
  base: { apiVersion: "v1", kind: "ConfigMap" },
  patches: [{ type: "FromCompositeFieldPath", fromFieldPath: "spec.size", toFieldPath: "data.size" }],
  readinessChecks: [{ type: "None" }],
});

/** An object that the service account of Guards may not create. Runs can be compared, because its name has no UID. */
const FORBIDDEN: JsonObject = {
  name: "limits",
  base: { apiVersion: "v1", kind: "LimitRange", spec: { limits: [] } },
  patches: [{ type: "FromCompositeFieldPath", fromFieldPath: "metadata.name", toFieldPath: "metadata.name" }],
};

function compositionOf(
  actor: Actor,
  { kind }: ResourceKind,
  entries: readonly string[],
  spec: JsonObject = {},
): JsonObject {
  return composition(actor, {
    resources: entries.map((entry) => (entry === FORBIDDEN["name"] ? FORBIDDEN : settings(entry))),
    spec: { compositeTypeRef: { apiVersion: `${GROUP}/v1`, kind }, ...spec },
  });
}

/**
 * The life of an XR with the scope Namespaced, whose references are in spec.crossplane.
 *
 * @param changed fields of its Composition from the second step on
 */
function lifecycle(name: string, kind: ResourceKind, changed: JsonObject = {}): Scenario {
  return {
    name,
    steps: [
      {
        name: "create it",
        act: (actor) =>
          actor.apply(compositionOf(actor, kind, ["a", "b"]), {
            ...named(actor, kind, "app"),
            spec: { size: "small", crossplane: { compositionRef: { name: `${actor.id}-c` } } },
          }),
        expect: async (actor) => {
          const app = await theApp(actor, kind);
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
          await actor.apply(compositionOf(actor, kind, ["a"], changed));
          await patch(actor, await theApp(actor, kind), { spec: { size: "large" } });
        },
        expect: async (actor) => {
          await expectEntries(actor, CONFIG_MAPS, "a");
          assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("a"), "data", "size"), "large");
        },
      },
      {
        name: "delete it",
        act: async (actor) => remove(actor, await theApp(actor, kind)),
        expect: async (actor) => {
          for (const one of [kind, CONFIG_MAPS]) assert.deepEqual(await all(actor, one), []);
        },
      },
    ],
  };
}

/** Namespaced XRs, composed with the controller's rights and with those of a service account. */
export const NAMESPACED: readonly Scenario[] = [
  lifecycle("a namespaced XR", APPS),
  lifecycle("a namespaced XR of a service account", GUARDS),
  lifecycle("a Composition that gets a service account", APPS, {
    serviceAccountRef: { namespace: NAMESPACE, name: COMPOSER },
  }),
  {
    name: "a service account that may not create an object",
    mayFail: /forbidden: User | lacks /,
    steps: [
      {
        name: "create an XR",
        act: (actor) =>
          actor.apply(compositionOf(actor, GUARDS, ["a", "limits"]), {
            ...named(actor, GUARDS, "app"),
            spec: { size: "small", crossplane: { compositionRef: { name: `${actor.id}-c` } } },
          }),
        expect: async (actor) => {
          expectCondition(await theApp(actor, GUARDS), "Synced", "False", "ReconcileError");
          await expectEntries(actor, CONFIG_MAPS, "a");
        },
      },
      {
        name: "remove its template",
        act: (actor) => actor.apply(compositionOf(actor, GUARDS, ["a"])),
        expect: async (actor) => {
          const app = await theApp(actor, GUARDS);
          expectCondition(app, "Synced", "True");
          assert.equal(objectsAt(app, "spec", "crossplane", "resourceRefs").length, 1);
        },
      },
      {
        name: "delete the XR",
        act: async (actor) => remove(actor, await theApp(actor, GUARDS)),
        expect: async (actor) => {
          for (const one of [GUARDS, CONFIG_MAPS]) assert.deepEqual(await all(actor, one), []);
        },
      },
    ],
  },
];
