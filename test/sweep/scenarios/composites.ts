import assert from "node:assert/strict";
import type { JsonObject } from "@xfn/json";
import { CONFIG_MAPS, NAMESPACE, NOPS, SECRETS, XTHINGS } from "../kinds.ts";
import { at, textAt } from "../objects.ts";
import { PROVIDERS_ZONE } from "../provider.ts";
import type { Actor, Scenario } from "../scenario.ts";
import {
  all,
  change,
  composed,
  composition,
  configMap,
  create,
  deleteX,
  expectCondition,
  expectEntries,
  get,
  named,
  nop,
  patch,
  remove,
  theX,
  xthing,
} from "./make.ts";

const SECRET = { writeConnectionSecretToRef: { namespace: NAMESPACE } };

/** A template that appends the XR's zones to those of the provider. */
function appending(): JsonObject {
  const { patches, ...template } = nop("a");
  const append = {
    type: "FromCompositeFieldPath",
    fromFieldPath: "spec.zones",
    toFieldPath: "spec.forProvider.fields.zones",
    policy: { mergeOptions: { appendSlice: true } },
  };
  return { ...template, patches: [...(Array.isArray(patches) ? patches : []), append] };
}

async function zonesOf(actor: Actor): Promise<unknown> {
  return at((await composed(actor, NOPS)).get("a"), "spec", "forProvider", "fields", "zones");
}

/** Composites of templates, from their creation to their deletion. */
export const COMPOSITES: readonly Scenario[] = [
  {
    name: "one resource",
    steps: [
      create({ resources: [nop("a")] }, { size: "small" }, async (actor) => {
        await expectEntries(actor, NOPS, "a");
        expectCondition(await theX(actor), "Ready", "True");
      }),
      deleteX,
    ],
  },
  {
    name: "three resources and a connection secret",
    steps: [
      {
        name: "create the XR",
        act: async (actor) => {
          const secret = { writeConnectionSecretToRef: { namespace: NAMESPACE, name: `${actor.id}-connection` } };
          await actor.apply(
            composition(actor, { resources: [nop("a"), nop("b"), configMap("c")] }),
            xthing(actor, { size: "small", ...secret }),
          );
        },
        expect: async (actor) => {
          expectCondition(await theX(actor), "Ready", "True");
          const secret = await get(actor, SECRETS, "connection");
          assert.deepEqual(Object.keys(at(secret, "data") ?? {}).toSorted(), ["password", "username"]);
        },
      },
      {
        name: "another client deletes the connection secret",
        act: async (actor) => remove(actor, await get(actor, SECRETS, "connection")),
        expect: async (actor) => assert.notEqual(await get(actor, SECRETS, "connection"), undefined),
      },
      deleteX,
    ],
  },
  {
    name: "a provider that adds an item to a list",
    steps: [
      create({ resources: [appending()] }, { zones: ["a"] }, async (actor) => {
        assert.deepEqual(await zonesOf(actor), ["a", PROVIDERS_ZONE]);
      }),
      change("add another item", { spec: { zones: ["a", "b"] } }, async (actor) => {
        assert.deepEqual(await zonesOf(actor), ["a", PROVIDERS_ZONE, "b"]);
      }),
    ],
  },
  {
    name: "a changed XR",
    steps: [
      create({ resources: [nop("a"), configMap("b")] }, { size: "small" }, async () => undefined),
      change("make it large", { spec: { size: "large" } }, async (actor) => {
        assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("b"), "data", "size"), "large");
        assert.equal(textAt((await composed(actor, NOPS)).get("a"), "spec", "forProvider", "fields", "size"), "large");
      }),
      // Fields that are no longer applied are removed.
      change("take the size away", { spec: { size: null } }, async (actor) => {
        assert.equal(at((await composed(actor, CONFIG_MAPS)).get("b"), "data", "size"), undefined);
      }),
      deleteX,
    ],
  },
  {
    name: "deleted while it is being created",
    steps: [
      {
        name: "create and delete the XR",
        act: async (actor) => {
          await actor.apply(composition(actor, { resources: [nop("a"), configMap("b")] }), xthing(actor));
          await remove(actor, await theX(actor));
        },
        expect: async (actor) => assert.deepEqual(await all(actor, XTHINGS), []),
      },
      {
        name: "create it again",
        act: (actor) => actor.apply(xthing(actor, { size: "small" })),
        expect: (actor) => expectEntries(actor, NOPS, "a"),
      },
      deleteX,
    ],
  },
  {
    name: "drift and loss",
    steps: [
      create(
        { resources: [configMap("a", { kept: "yes" }), configMap("b")] },
        { size: "small" },
        async () => undefined,
      ),
      {
        name: "another client changes a resource",
        act: async (actor) =>
          patch(actor, (await composed(actor, CONFIG_MAPS)).get("a"), { data: { kept: "no", theirs: "yes" } }),
        expect: async (actor) =>
          assert.deepEqual(
            { ...(at((await composed(actor, CONFIG_MAPS)).get("a"), "data") as object) },
            {
              kept: "yes",
              size: "small",
              theirs: "yes",
            },
          ),
      },
      {
        name: "another client deletes a resource",
        act: async (actor) => remove(actor, (await composed(actor, CONFIG_MAPS)).get("b")),
        expect: (actor) => expectEntries(actor, CONFIG_MAPS, "a", "b"),
      },
      deleteX,
    ],
  },
  {
    name: "a name that is another's",
    mayFail: /./,
    steps: [
      {
        name: "create an XR that composes an existing object",
        act: async (actor) => {
          const taken = configMap("taken", { whose: "ours" });
          const patches = [
            { fromFieldPath: "spec.namespace", toFieldPath: "metadata.namespace" },
            { fromFieldPath: "spec.taken", toFieldPath: "metadata.name" },
          ];
          const resources = [configMap("a"), { ...taken, patches }];
          const owner = await actor.client.create({ ...named(actor, CONFIG_MAPS, "owner") });
          const { apiVersion, kind } = owner;
          const { name, uid } = owner.metadata;
          const theirs = named(actor, CONFIG_MAPS, "theirs");
          theirs.metadata["ownerReferences"] = [{ apiVersion, kind, name, uid, controller: true }];
          await actor.apply(
            { ...theirs, data: { whose: "theirs" } },
            composition(actor, { resources }),
            xthing(actor, { taken: `${actor.id}-theirs` }),
          );
        },
        expect: async (actor) => {
          expectCondition(await theX(actor), "Synced", "False");
          assert.equal(textAt(await get(actor, CONFIG_MAPS, "theirs"), "data", "whose"), "theirs");
        },
      },
      {
        name: "delete the XR",
        act: async (actor) => remove(actor, await theX(actor)),
        expect: async (actor) => {
          assert.equal(textAt(await get(actor, CONFIG_MAPS, "theirs"), "data", "whose"), "theirs");
          assert.equal((await all(actor, CONFIG_MAPS)).length, 2);
        },
      },
    ],
  },
  {
    name: "a connection secret that is another's",
    mayFail: /./,
    steps: [
      {
        name: "create an XR whose secret exists already",
        act: async (actor) => {
          const secret = {
            writeConnectionSecretToRef: { ...SECRET.writeConnectionSecretToRef, name: `${actor.id}-taken` },
          };
          await actor.apply(
            { ...named(actor, SECRETS, "taken"), stringData: { whose: "theirs" } },
            composition(actor, { resources: [nop("a")] }),
            xthing(actor, secret),
          );
        },
        expect: async (actor) => {
          expectCondition(await theX(actor), "Synced", "False");
          assert.deepEqual(Object.keys(at(await get(actor, SECRETS, "taken"), "data") ?? {}), ["whose"]);
        },
      },
      {
        name: "delete the XR",
        act: async (actor) => remove(actor, await theX(actor)),
        expect: async (actor) =>
          assert.deepEqual(
            (await all(actor, SECRETS)).map(({ metadata }) => metadata.name),
            [`${actor.id}-taken`],
          ),
      },
    ],
  },
  {
    name: "a resource that lost its controller reference",
    mayFail: /./,
    steps: [
      create({ resources: [configMap("a"), configMap("b")] }, { size: "small" }, async () => undefined),
      {
        name: "a restore strips the reference",
        act: async (actor) =>
          patch(actor, (await composed(actor, CONFIG_MAPS)).get("a"), { metadata: { ownerReferences: null } }),
        expect: async (actor) => {
          await expectEntries(actor, CONFIG_MAPS, "a", "b");
          const references = at(await theX(actor), "spec", "resourceRefs");
          assert.equal(Array.isArray(references) ? references.length : 0, 2);
        },
      },
      // In any order of reconciles, the reference must not be restored before the template is removed.
      change("pause the XR", { metadata: { annotations: { "crossplane.io/paused": "true" } } }, (actor) =>
        expectEntries(actor, CONFIG_MAPS, "a", "b"),
      ),
      {
        name: "another restore strips it, and the template is removed",
        act: async (actor) => {
          await patch(actor, (await composed(actor, CONFIG_MAPS)).get("a"), { metadata: { ownerReferences: null } });
          await actor.apply(composition(actor, { resources: [configMap("b")] }));
        },
        expect: (actor) => expectEntries(actor, CONFIG_MAPS, "a", "b"),
      },
      // The XR must not delete what it does not control.
      change("let the XR go on", { metadata: { annotations: { "crossplane.io/paused": null } } }, (actor) =>
        expectEntries(actor, CONFIG_MAPS, "a", "b"),
      ),
      {
        name: "delete the XR",
        act: async (actor) => remove(actor, await theX(actor)),
        expect: (actor) => expectEntries(actor, CONFIG_MAPS, "a"),
      },
    ],
  },
  {
    name: "a forged reference",
    mayFail: /./,
    steps: [
      {
        name: "create an XR with references to objects of another owner and of none",
        act: async (actor) => {
          const owner = await actor.client.create(named(actor, CONFIG_MAPS, "owner"));
          const { apiVersion, kind } = owner;
          const { name, uid } = owner.metadata;
          const theirs = named(actor, CONFIG_MAPS, "theirs");
          theirs.metadata["ownerReferences"] = [{ apiVersion, kind, name, uid, controller: true }];
          const resourceRefs = ["theirs", "nobodys"].map((one) => ({
            apiVersion,
            kind,
            namespace: NAMESPACE,
            name: `${actor.id}-${one}`,
          }));
          await actor.apply(
            theirs,
            named(actor, CONFIG_MAPS, "nobodys"),
            composition(actor, { resources: [configMap("a")] }),
            xthing(actor, { resourceRefs }),
          );
        },
        expect: async (actor) => assert.equal((await all(actor, CONFIG_MAPS)).length, 4),
      },
      {
        name: "delete the XR",
        act: async (actor) => remove(actor, await theX(actor)),
        expect: async (actor) => {
          const left = (await all(actor, CONFIG_MAPS)).map(({ metadata }) => metadata.name);
          assert.deepEqual(
            left.toSorted(),
            ["nobodys", "owner", "theirs"].map((one) => `${actor.id}-${one}`),
          );
        },
      },
    ],
  },
  {
    name: "paused",
    steps: [
      create({ resources: [configMap("a")] }, { size: "small" }, async () => undefined),
      change(
        "pause and change",
        { metadata: { annotations: { "crossplane.io/paused": "true" } }, spec: { size: "large" } },
        async (actor) => assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("a"), "data", "size"), "small"),
      ),
      change("go on", { metadata: { annotations: { "crossplane.io/paused": null } } }, async (actor) =>
        assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("a"), "data", "size"), "large"),
      ),
      deleteX,
    ],
  },
  {
    name: "two XRs of one Composition",
    steps: [
      {
        name: "create both",
        act: (actor) =>
          actor.apply(
            composition(actor, { resources: [configMap("a"), configMap("b")] }),
            xthing(actor, { size: "small" }),
            {
              ...xthing(actor, { size: "large" }),
              metadata: { name: `${actor.id}-y` },
            },
          ),
        expect: async (actor) => assert.equal((await all(actor, CONFIG_MAPS)).length, 4),
      },
      {
        name: "delete one",
        act: async (actor) => remove(actor, await get(actor, XTHINGS, "y")),
        expect: async (actor) => {
          assert.equal((await all(actor, CONFIG_MAPS)).length, 2);
          await expectEntries(actor, CONFIG_MAPS, "a", "b");
        },
      },
      deleteX,
    ],
  },
];
