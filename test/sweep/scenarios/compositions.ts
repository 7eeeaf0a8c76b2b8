import assert from "node:assert/strict";
import { COMPOSITIONS as COMPOSITION, CONFIG_MAPS, GROUP, NAMESPACE, REVISIONS, XGROUPS, XTHINGS } from "../kinds.ts";
import { at, textAt } from "../objects.ts";
import type { Actor, Scenario, Step } from "../scenario.ts";
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
  patch,
  remove,
  theX,
  xthing,
} from "./make.ts";

const edit = (name: string, parts: Parameters<typeof composition>[1], expect: Step["expect"]): Step => ({
  name,
  act: (actor) => actor.apply(composition(actor, parts)),
  expect,
});

async function kept(actor: Actor): Promise<string | undefined> {
  return textAt((await composed(actor, CONFIG_MAPS)).get("a"), "data", "kept");
}

async function revision(actor: Actor, number: number): Promise<string> {
  const found = (await all(actor, REVISIONS)).find((one) => Number(at(one, "spec", "revision")) === number);
  assert.ok(found, `there is no revision ${number}`);
  return found.metadata.name;
}

/** Compositions that change, and the revisions that XRs use. */
export const COMPOSITIONS: readonly Scenario[] = [
  {
    name: "a changed Composition",
    steps: [
      create({ resources: [configMap("a", { kept: "1" })] }, { size: "small" }, async () => undefined),
      edit("change a template", { resources: [configMap("a", { kept: "2" })] }, async (actor) => {
        assert.equal(await kept(actor), "2");
        assert.equal((await all(actor, REVISIONS)).length, 2);
      }),
      edit("change it back", { resources: [configMap("a", { kept: "1" })] }, async (actor) =>
        assert.equal(await kept(actor), "1"),
      ),
      deleteX,
    ],
  },
  {
    name: "an added and a removed template",
    steps: [
      create({ resources: [configMap("a"), configMap("b")] }, { size: "small" }, async () => undefined),
      edit("add one", { resources: [configMap("a"), configMap("b"), configMap("c")] }, (actor) =>
        expectEntries(actor, CONFIG_MAPS, "a", "b", "c"),
      ),
      edit("remove two", { resources: [configMap("c")] }, (actor) => expectEntries(actor, CONFIG_MAPS, "c")),
      deleteX,
    ],
  },
  {
    name: "Manual updates",
    steps: [
      create(
        { resources: [configMap("a", { kept: "1" })] },
        { size: "small", compositionUpdatePolicy: "Manual" },
        async () => undefined,
      ),
      edit("change the Composition", { resources: [configMap("a", { kept: "2" })] }, async (actor) =>
        assert.equal(await kept(actor), "1"),
      ),
      {
        name: "choose the new revision",
        act: async (actor) =>
          patch(actor, await theX(actor), { spec: { compositionRevisionRef: { name: await revision(actor, 2) } } }),
        expect: async (actor) => assert.equal(await kept(actor), "2"),
      },
      deleteX,
    ],
  },
  {
    name: "revisions by label",
    steps: [
      create(
        { resources: [configMap("a", { kept: "1" })], labels: { channel: "stable" } },
        { size: "small", compositionRevisionSelector: { matchLabels: { channel: "stable" } } },
        async () => undefined,
      ),
      edit(
        "a revision of another channel",
        { resources: [configMap("a", { kept: "2" })], labels: { channel: "fast" } },
        async (actor) => assert.equal(await kept(actor), "1"),
      ),
      change(
        "follow that channel",
        { spec: { compositionRevisionSelector: { matchLabels: { channel: "fast" } } } },
        async (actor) => assert.equal(await kept(actor), "2"),
      ),
      deleteX,
    ],
  },
  {
    name: "a Composition by its labels",
    steps: [
      {
        name: "create the XR",
        act: (actor) =>
          actor.apply(composition(actor, { resources: [configMap("a")], labels: { which: actor.id } }), {
            ...named(actor, XTHINGS, "x"),
            spec: { namespace: NAMESPACE, size: "small", compositionSelector: { matchLabels: { which: actor.id } } },
          }),
        expect: async (actor) => {
          assert.equal(textAt(await theX(actor), "spec", "compositionRef", "name"), `${actor.id}-c`);
          await expectEntries(actor, CONFIG_MAPS, "a");
        },
      },
      deleteX,
    ],
  },
  {
    name: "a Composition that comes late",
    mayFail: /./,
    steps: [
      {
        name: "create the XR alone",
        act: (actor) => actor.apply(xthing(actor, { size: "small" })),
        expect: async (actor) => expectCondition(await theX(actor), "Synced", "False"),
      },
      {
        name: "create its Composition",
        act: (actor) => actor.apply(composition(actor, { resources: [configMap("a")] })),
        expect: async (actor) => expectCondition(await theX(actor), "Synced", "True"),
      },
      {
        name: "break its Composition",
        act: async (actor) =>
          patch(actor, await get(actor, COMPOSITION, "c"), {
            spec: { resources: [{ name: "a", base: { apiVersion: "v1" } }] },
          }).catch(() => undefined),
        expect: (actor) => expectEntries(actor, CONFIG_MAPS, "a"),
      },
      deleteX,
    ],
  },
  {
    name: "an XR of XRs",
    steps: [
      {
        name: "create the outer XR",
        act: async (actor) => {
          const inner = { apiVersion: `${GROUP}/v1`, kind: "XThing" };
          const base = {
            ...inner,
            spec: { namespace: NAMESPACE, size: "small", compositionRef: { name: `${actor.id}-c` } },
          };
          const outer = composition(
            actor,
            {
              resources: [{ name: "inner", base, patches: [] }, configMap("beside")],
              spec: { compositeTypeRef: { apiVersion: `${GROUP}/v1`, kind: "XGroup" } },
            },
            "outer",
          );
          await actor.apply(composition(actor, { resources: [configMap("a"), configMap("b")] }), outer, {
            ...named(actor, XGROUPS, "g"),
            spec: { namespace: NAMESPACE, compositionRef: { name: `${actor.id}-outer` } },
          });
        },
        expect: async (actor) => {
          expectCondition(await get(actor, XGROUPS, "g"), "Ready", "True");
          await expectEntries(actor, CONFIG_MAPS, "a", "b", "beside");
        },
      },
      {
        name: "delete the outer XR",
        act: async (actor) => remove(actor, await get(actor, XGROUPS, "g")),
        expect: async (actor) => {
          assert.deepEqual(await all(actor, XTHINGS), []);
          assert.deepEqual(await all(actor, CONFIG_MAPS), []);
        },
      },
    ],
  },
];
