import assert from "node:assert/strict";
import { isObject, type JsonObject } from "@xfn/json";
import { isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { apiVersionOf, CONFIG_MAPS, CRDS, DEFINITIONS as DEFINITION, GROUP, NAMESPACE } from "../kinds.ts";
import type { Actor, Scenario, Step } from "../scenario.ts";
import { all, composition, configMap, expectCondition, expectEntries, remove } from "./make.ts";

/** Kinds of this run only. */
function kindsOf({ id }: Actor): { composite: ResourceKind; claim: ResourceKind } {
  const common = { group: GROUP, version: "v1" };
  return {
    composite: { ...common, kind: `X${id}`, plural: `x${id}s`, namespaced: false },
    claim: { ...common, kind: `C${id}`, plural: `c${id}s`, namespaced: true },
  };
}

const OPEN: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

function definition(actor: Actor, { fields = {}, version = "v1" } = {}): JsonObject {
  const { composite, claim } = kindsOf(actor);
  const properties = { spec: { ...OPEN, properties: fields }, status: OPEN };
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return {
    apiVersion: apiVersionOf(DEFINITION),
    kind: DEFINITION.kind,
    metadata: { name: `${composite.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      names: { kind: composite.kind, plural: composite.plural },
      claimNames: { kind: claim.kind, plural: claim.plural },
      versions: [{ name: version, served: true, referenceable: true, schema }],
    },
  };
}

async function instances(actor: Actor, kind: ResourceKind): Promise<readonly LiveObject[]> {
  try {
    return (await actor.client.list(kind)).items;
  } catch (error) {
    if (isApiError(error, "NotFound", "KindNotServed")) return [];
    throw error;
  }
}

const define: Step = {
  name: "create the definition",
  act: (actor) => actor.apply(definition(actor)),
  expect: async (actor) => {
    const [found] = await all(actor, DEFINITION);
    expectCondition(found, "Established", "True");
    expectCondition(found, "Offered", "True");
    assert.equal((await all(actor, CRDS)).length, 2);
  },
};

const use: Step = {
  name: "create a composite and a claim",
  act: async (actor) => {
    const { composite, claim } = kindsOf(actor);
    const compositeTypeRef = { apiVersion: `${GROUP}/v1`, kind: composite.kind };
    const compositionRef = { name: `${actor.id}-c` };
    const spec = { namespace: NAMESPACE, compositionRef };
    // The server has just started to serve them.
    actor.client.forgetKinds();
    await actor.apply(
      composition(actor, { resources: [configMap("a")], spec: { compositeTypeRef } }),
      { apiVersion: `${GROUP}/v1`, kind: composite.kind, metadata: { name: `${actor.id}-x` }, spec },
      {
        apiVersion: `${GROUP}/v1`,
        kind: claim.kind,
        metadata: { name: `${actor.id}-claim`, namespace: NAMESPACE },
        spec,
      },
    );
  },
  expect: async (actor) => {
    assert.equal((await all(actor, CONFIG_MAPS)).length, 2);
    await expectEntries(actor, CONFIG_MAPS, "a");
  },
};

const SIZE = "of the default";

async function expectSizes(actor: Actor, size: string | undefined): Promise<void> {
  const found = (await all(actor, CONFIG_MAPS)).map(({ data }) => (isObject(data) ? data["size"] : undefined));
  assert.deepEqual(found, [size, size]);
}

/** Definitions and their instances. */
export const DEFINITIONS: readonly Scenario[] = [
  {
    name: "a schema that changes under existing composites and claims",
    steps: [
      define,
      use,
      {
        name: "add a default",
        act: (actor) => actor.apply(definition(actor, { fields: { size: { type: "string", default: SIZE } } })),
        expect: (actor) => expectSizes(actor, SIZE),
      },
    ],
  },
  {
    name: "a definition without the version that the server stores",
    steps: [
      define,
      use,
      {
        name: "replace the version",
        act: (actor) => actor.apply(definition(actor, { version: "v2" })),
        expect: async (actor) => {
          const [found] = await all(actor, DEFINITION);
          expectCondition(found, "Established", "False");
          assert.match(JSON.stringify(found?.["status"]), /CannotApplyCRD/);
          await expectSizes(actor, undefined);
        },
      },
      {
        name: "bring the version back, with a default",
        act: (actor) => actor.apply(definition(actor, { fields: { size: { type: "string", default: SIZE } } })),
        expect: async (actor) => {
          const [found] = await all(actor, DEFINITION);
          expectCondition(found, "Established", "True");
          await expectSizes(actor, SIZE);
        },
      },
    ],
  },
  {
    name: "a definition that is deleted with its instances",
    steps: [
      define,
      use,
      {
        name: "delete the definition",
        act: async (actor) => remove(actor, (await all(actor, DEFINITION))[0]),
        expect: async (actor) => {
          for (const kind of [DEFINITION, CRDS, CONFIG_MAPS])
            assert.deepEqual(
              (await all(actor, kind)).map(({ metadata }) => metadata.name),
              [],
            );
        },
      },
    ],
  },
  {
    name: "a CRD that another client deletes",
    steps: [
      define,
      use,
      {
        name: "delete the CRD of the composites",
        act: async (actor) => {
          const { composite } = kindsOf(actor);
          const crds = await all(actor, CRDS);
          await remove(
            actor,
            crds.find(({ metadata }) => metadata.name.startsWith(composite.plural)),
          );
        },
        expect: async (actor) => {
          // The composite and its composed resources are gone; the claim creates another one.
          assert.equal((await all(actor, CRDS)).length, 2);
          const { composite, claim } = kindsOf(actor);
          actor.client.forgetKinds();
          assert.equal((await instances(actor, composite)).length, 1);
          assert.equal((await instances(actor, claim)).length, 1);
          assert.equal((await all(actor, CONFIG_MAPS)).length, 1);
        },
      },
      {
        name: "delete the definition",
        act: async (actor) => remove(actor, (await all(actor, DEFINITION))[0]),
        expect: async (actor) => assert.deepEqual(await all(actor, CRDS), []),
      },
    ],
  },
];
