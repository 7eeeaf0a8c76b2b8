import assert from "node:assert/strict";
import type { JsonObject } from "@xfn/json";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import {
  apiVersionOf,
  CONFIG_MAPS,
  CRDS,
  GROUP,
  INFRASTRUCTURE,
  NAMESPACE,
  PUBLICATIONS as PUBLICATION,
} from "../kinds.ts";
import { at, textAt } from "../objects.ts";
import type { Actor, Scenario } from "../scenario.ts";
import { all, composition, configMap, expectCondition, offered, remove } from "./make.ts";

/** Kinds of this run only. */
function kindsOf({ id }: Actor): { composite: ResourceKind; requirement: ResourceKind } {
  const common = { group: GROUP, version: "v1" };
  return {
    composite: { ...common, kind: `X${id}`, plural: `x${id}s`, namespaced: false },
    requirement: { ...common, kind: `X${id}Requirement`, plural: `x${id}requirements`, namespaced: true },
  };
}

function definition(actor: Actor): JsonObject {
  const { kind, plural } = kindsOf(actor).composite;
  const properties = { namespace: { type: "string" }, size: { type: "string" } };
  return {
    apiVersion: apiVersionOf(INFRASTRUCTURE),
    kind: INFRASTRUCTURE.kind,
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      // The scenario composes ConfigMaps.
      composedScope: "Any",
      crdSpecTemplate: {
        group: GROUP,
        version: "v1",
        names: { kind, plural },
        validation: { openAPIV3Schema: { type: "object", properties } },
      },
    },
  };
}

function publication(actor: Actor): JsonObject {
  const name = `${kindsOf(actor).composite.plural}.${GROUP}`;
  return {
    apiVersion: apiVersionOf(PUBLICATION),
    kind: PUBLICATION.kind,
    metadata: { name },
    spec: { infrastructureDefinitionReference: { name } },
  };
}

function instance({ id }: Actor, kind: ResourceKind, name: string, more: JsonObject = {}): JsonObject {
  return {
    apiVersion: `${GROUP}/v1`,
    kind: kind.kind,
    metadata: {
      name: `${id}-${name}`,
      ...(kind.namespaced ? { namespace: NAMESPACE } : offered({ metadata: {} }).metadata),
    },
    spec: { namespace: NAMESPACE, compositionRef: { name: `${id}-c` }, ...more },
  };
}

const instances = async (actor: Actor, kind: ResourceKind): Promise<readonly LiveObject[]> =>
  (await actor.client.list(kind)).items;

/** Publications and their requirements. */
export const PUBLICATIONS: readonly Scenario[] = [
  {
    name: "a publication, its requirements, and its end",
    steps: [
      {
        name: "define and publish",
        act: (actor) => actor.apply(publication(actor), definition(actor)),
        expect: async (actor) => {
          expectCondition((await all(actor, INFRASTRUCTURE))[0], "Established", "True");
          expectCondition((await all(actor, PUBLICATION))[0], "Offered", "True");
          assert.equal((await all(actor, CRDS)).length, 2);
        },
      },
      {
        name: "require an existing composite, and another one",
        act: async (actor) => {
          const { composite, requirement } = kindsOf(actor);
          const compositeTypeRef = { apiVersion: `${GROUP}/v1`, kind: composite.kind };
          // The server has just started to serve them.
          actor.client.forgetKinds();
          await actor.apply(
            composition(actor, { resources: [configMap("a")], spec: { compositeTypeRef } }),
            instance(actor, composite, "x"),
            instance(actor, requirement, "bound", { resourceRef: { name: `${actor.id}-x` }, size: "large" }),
            instance(actor, requirement, "own", { size: "small" }),
          );
        },
        expect: async (actor) => {
          const { composite } = kindsOf(actor);
          const sizes = (await all(actor, CONFIG_MAPS)).map((one) => textAt(one, "data", "size"));
          assert.deepEqual(sizes.toSorted(), ["large", "small"]);
          const claims = (await instances(actor, composite)).map((one) =>
            textAt(one, "spec", "requirementRef", "name"),
          );
          assert.deepEqual(claims.toSorted(), [`${actor.id}-bound`, `${actor.id}-own`]);
        },
      },
      {
        name: "delete the publication",
        act: async (actor) => remove(actor, (await all(actor, PUBLICATION))[0]),
        expect: async (actor) => {
          const { composite } = kindsOf(actor);
          // The composite that existed before its requirement is released. The other one is deleted.
          const [left, ...others] = await instances(actor, composite);
          assert.deepEqual([left?.metadata.name, others], [`${actor.id}-x`, []]);
          assert.equal(at(left, "spec", "requirementRef"), undefined);
          assert.equal((await all(actor, CONFIG_MAPS)).length, 1);
          assert.equal((await all(actor, CRDS)).length, 1);
        },
      },
      {
        name: "delete the definition",
        act: async (actor) => remove(actor, (await all(actor, INFRASTRUCTURE))[0]),
        expect: async (actor) => {
          for (const kind of [INFRASTRUCTURE, CRDS, CONFIG_MAPS]) assert.deepEqual(await all(actor, kind), []);
        },
      },
    ],
  },
];
