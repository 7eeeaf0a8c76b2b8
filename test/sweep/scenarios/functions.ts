import assert from "node:assert/strict";
import { CONFIG_MAPS } from "../kinds.ts";
import { at, textAt } from "../objects.ts";
import type { Scenario } from "../scenario.ts";
import { change, composed, configMap, create, deleteX, expectCondition, expectEntries, theX } from "./make.ts";

/** Composites of functions, which desire, delete, leave out and refuse. */
export const FUNCTIONS: readonly Scenario[] = [
  {
    name: "a function scales up and down",
    steps: [
      create({ functions: ["scale"] }, { count: 1 }, (actor) => expectEntries(actor, CONFIG_MAPS, "map-0")),
      change("up", { spec: { count: 3 } }, (actor) => expectEntries(actor, CONFIG_MAPS, "map-0", "map-1", "map-2")),
      change("down", { spec: { count: 1 } }, (actor) => expectEntries(actor, CONFIG_MAPS, "map-0")),
      deleteX,
    ],
  },
  {
    name: "a function leaves out a resource that it desired before",
    steps: [
      create({ functions: ["scale"] }, { count: 2, quiet: true }, (actor) =>
        expectEntries(actor, CONFIG_MAPS, "map-0", "map-1"),
      ),
      change("say less", { spec: { count: 1 } }, (actor) => expectEntries(actor, CONFIG_MAPS, "map-0", "map-1")),
      deleteX,
    ],
  },
  {
    name: "undesired resources are deleted",
    steps: [
      create({ functions: ["scale"], spec: { undesiredResources: "Delete" } }, { count: 3, quiet: true }, (actor) =>
        expectEntries(actor, CONFIG_MAPS, "map-0", "map-1", "map-2"),
      ),
      change("say less", { spec: { count: 1 } }, (actor) => expectEntries(actor, CONFIG_MAPS, "map-0")),
      deleteX,
    ],
  },
  {
    name: "a function writes status and labels of the XR",
    steps: [
      create({ resources: [configMap("a")], functions: ["scale", "report"] }, { count: 1 }, async (actor) => {
        const composite = await theX(actor);
        assert.equal(Number(at(composite, "status", "seen")), 2);
        assert.equal(textAt(composite, "metadata", "labels", "sweep.example.org/reported"), "yes");
      }),
      change("one more", { spec: { count: 2 } }, async (actor) =>
        assert.equal(Number(at(await theX(actor), "status", "seen")), 3),
      ),
      deleteX,
    ],
  },
  {
    name: "a fatal result, and its end",
    mayFail: /./,
    steps: [
      create({ functions: ["scale", "refuse"] }, { count: 2, size: "small" }, (actor) =>
        expectEntries(actor, CONFIG_MAPS, "map-0", "map-1"),
      ),
      change("refuse", { spec: { refuse: true, count: 1, size: "large" } }, async (actor) => {
        expectCondition(await theX(actor), "Synced", "False");
        await expectEntries(actor, CONFIG_MAPS, "map-0", "map-1");
        assert.equal(textAt((await composed(actor, CONFIG_MAPS)).get("map-0"), "data", "size"), "small");
      }),
      change("go on", { spec: { refuse: false } }, async (actor) => {
        expectCondition(await theX(actor), "Synced", "True");
        await expectEntries(actor, CONFIG_MAPS, "map-0");
      }),
      deleteX,
    ],
  },
];
