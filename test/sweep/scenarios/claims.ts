import assert from "node:assert/strict";
import type { JsonObject } from "@xfn/json";
import { CONFIG_MAPS, NAMESPACE, NOPS, SECRETS, THINGS, XTHINGS } from "../kinds.ts";
import { at, textAt } from "../objects.ts";
import type { Actor, Scenario, Step } from "../scenario.ts";
import {
  all,
  composed,
  composition,
  configMap,
  deleteX,
  expectCondition,
  expectEntries,
  get,
  named,
  nop,
  offered,
  patch,
  remove,
  theX,
  thing,
} from "./make.ts";

const theClaim = (actor: Actor): ReturnType<typeof get> => get(actor, THINGS, "claim");

const deleteClaim: Step = {
  name: "delete the claim",
  act: async (actor) => remove(actor, await theClaim(actor)),
  expect: async (actor) => {
    for (const kind of [THINGS, XTHINGS, NOPS, CONFIG_MAPS, SECRETS])
      assert.deepEqual(
        (await all(actor, kind)).map(({ metadata }) => metadata.name),
        [],
        `${kind.kind}s are left`,
      );
  },
};

/** A claim of the XR that `theX` returns, with a secret. */
function claimOfX(actor: Actor, name: string, spec: JsonObject): JsonObject {
  const resourceRef = { apiVersion: "sweep.example.org/v1", kind: "XThing", name: `${actor.id}-x` };
  const writeConnectionSecretToRef = { name: `${actor.id}-for-${name}` };
  return {
    ...named(actor, THINGS, name),
    spec: { namespace: NAMESPACE, resourceRef, writeConnectionSecretToRef, ...spec },
  };
}

const changeClaim = (name: string, body: Parameters<typeof patch>[2], expect: Step["expect"]): Step => ({
  name,
  act: async (actor) => patch(actor, await theClaim(actor), body),
  expect,
});

/** Claims: their composites, the fields that both share, and their deletion. */
export const CLAIMS: readonly Scenario[] = [
  {
    name: "a claim and its secret",
    steps: [
      {
        name: "create the claim",
        act: (actor) =>
          actor.apply(
            composition(actor, { resources: [nop("a"), configMap("b")] }),
            thing(actor, { size: "small", writeConnectionSecretToRef: { name: `${actor.id}-for-claim` } }),
          ),
        expect: async (actor) => {
          expectCondition(await theClaim(actor), "Ready", "True");
          assert.equal((await all(actor, XTHINGS)).length, 1);
          const secret = await get(actor, SECRETS, "for-claim");
          assert.deepEqual(Object.keys(at(secret, "data") ?? {}).toSorted(), ["password", "username"]);
        },
      },
      changeClaim(
        "change it, with a label",
        { metadata: { labels: { team: "a" } }, spec: { size: "large" } },
        async (actor) => {
          assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("b"), "data", "size"), "large");
          assert.equal(textAt((await all(actor, XTHINGS))[0], "metadata", "labels", "team"), "a");
        },
      ),
      {
        name: "another client deletes its secret",
        act: async (actor) => remove(actor, await get(actor, SECRETS, "for-claim")),
        expect: async (actor) => assert.notEqual(await get(actor, SECRETS, "for-claim"), undefined),
      },
      deleteClaim,
    ],
  },
  {
    name: "a claim of an existing XR, and the next one",
    steps: [
      {
        name: "create an XR",
        act: (actor) =>
          actor.apply(composition(actor, { resources: [nop("a"), configMap("b")] }), {
            ...offered(named(actor, XTHINGS, "x")),
            spec: { namespace: NAMESPACE, size: "small", compositionRef: { name: `${actor.id}-c` } },
          }),
        expect: (actor) => expectEntries(actor, CONFIG_MAPS, "b"),
      },
      {
        name: "create its claim",
        act: (actor) => actor.apply(claimOfX(actor, "claim", { size: "large" })),
        expect: async (actor) => {
          expectCondition(await theClaim(actor), "Ready", "True");
          assert.equal((await all(actor, XTHINGS)).length, 1);
          assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("b"), "data", "size"), "large");
          assert.notEqual(await get(actor, SECRETS, "for-claim"), undefined);
        },
      },
      {
        name: "delete the claim, which releases the XR",
        act: async (actor) => remove(actor, await theClaim(actor)),
        expect: async (actor) => {
          assert.deepEqual(await all(actor, THINGS), []);
          assert.equal(await get(actor, SECRETS, "for-claim"), undefined);
          const xr = await theX(actor);
          assert.equal(at(xr, "spec", "claimRef"), undefined);
          assert.equal(textAt(xr, "spec", "reclaimPolicy"), "Retain");
          assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("b"), "data", "size"), "large");
        },
      },
      {
        name: "create another claim of it",
        act: (actor) => actor.apply(claimOfX(actor, "next", {})),
        expect: async (actor) => {
          expectCondition(await get(actor, THINGS, "next"), "Ready", "True");
          assert.equal(textAt(await theX(actor), "spec", "claimRef", "name"), `${actor.id}-next`);
          assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("b"), "data", "size"), "large");
        },
      },
      {
        name: "delete that claim",
        act: async (actor) => remove(actor, await get(actor, THINGS, "next")),
        expect: async (actor) => {
          assert.deepEqual(await all(actor, THINGS), []);
          await expectEntries(actor, CONFIG_MAPS, "b");
        },
      },
      deleteX,
    ],
  },
  {
    name: "a claim of an existing XR that is deleted with it",
    steps: [
      {
        name: "create an XR and its claim",
        act: (actor) =>
          actor.apply(
            composition(actor, { resources: [configMap("a")] }),
            {
              ...offered(named(actor, XTHINGS, "x")),
              spec: { namespace: NAMESPACE, reclaimPolicy: "Delete", compositionRef: { name: `${actor.id}-c` } },
            },
            claimOfX(actor, "claim", { size: "large" }),
          ),
        expect: async (actor) => {
          assert.equal((await all(actor, XTHINGS)).length, 1);
          assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("a"), "data", "size"), "large");
        },
      },
      deleteClaim,
    ],
  },
  {
    name: "a claim of another's XR",
    mayFail: /./,
    steps: [
      {
        name: "create a claim, and one that wants its XR",
        act: async (actor) => {
          await actor.apply(composition(actor, { resources: [configMap("a")] }), thing(actor, { size: "small" }));
        },
        expect: (actor) => expectEntries(actor, CONFIG_MAPS, "a"),
      },
      {
        name: "create a second claim of the same XR",
        act: async (actor) => {
          const name = (await all(actor, XTHINGS))[0]?.metadata.name ?? "";
          const resourceRef = { apiVersion: "sweep.example.org/v1", kind: "XThing", name };
          await actor.apply({
            ...named(actor, THINGS, "thief"),
            spec: { namespace: NAMESPACE, size: "large", resourceRef },
          });
        },
        expect: async (actor) => {
          assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("a"), "data", "size"), "small");
          assert.equal((await all(actor, XTHINGS)).length, 1);
        },
      },
      {
        name: "delete the second claim",
        act: async (actor) => remove(actor, await get(actor, THINGS, "thief")),
        expect: async (actor) => {
          assert.equal((await all(actor, XTHINGS)).length, 1);
          await expectEntries(actor, CONFIG_MAPS, "a");
        },
      },
      deleteClaim,
    ],
  },
  {
    name: "a claim that is deleted in the foreground",
    steps: [
      {
        name: "create the claim",
        act: (actor) =>
          actor.apply(
            composition(actor, { resources: [nop("a"), configMap("b")] }),
            thing(actor, { size: "small", compositeDeletePolicy: "Foreground" }),
          ),
        expect: async (actor) => expectCondition(await theClaim(actor), "Ready", "True"),
      },
      deleteClaim,
    ],
  },
  {
    name: "a claim that is deleted at once",
    steps: [
      {
        name: "create and delete the claim",
        act: async (actor) => {
          await actor.apply(composition(actor, { resources: [configMap("a")] }), thing(actor, { size: "small" }));
          await remove(actor, await theClaim(actor));
        },
        expect: async (actor) => assert.deepEqual(await all(actor, THINGS), []),
      },
      {
        name: "create it again",
        act: (actor) => actor.apply(thing(actor, { size: "small" })),
        expect: (actor) => expectEntries(actor, CONFIG_MAPS, "a"),
      },
      deleteClaim,
    ],
  },
];
