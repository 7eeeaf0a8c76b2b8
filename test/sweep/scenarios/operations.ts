import assert from "node:assert/strict";
import { CONFIG_MAPS, OPERATIONS as KIND } from "../kinds.ts";
import { at, textAt } from "../objects.ts";
import { OPERATE } from "../packages.ts";
import type { Scenario } from "../scenario.ts";
import { expectCondition, get, named, remove } from "./make.ts";

const NAMES = ["one", "two"];

/** Operations, which count each attempt before it. */
export const OPERATIONS: readonly Scenario[] = [
  {
    name: "an Operation runs its steps, applies what they desire, and leaves it",
    steps: [
      {
        name: "create it",
        act: async (actor) => {
          const pipeline = NAMES.map((step) => ({
            step,
            functionRef: { name: OPERATE },
            input: { apiVersion: "v1", kind: "Input", name: `${actor.id}-${step}` },
          }));
          await actor.apply({ ...named(actor, KIND, "o"), spec: { retryLimit: 20, pipeline } });
        },
        expect: async (actor) => {
          const operation = await get(actor, KIND, "o");
          expectCondition(operation, "Succeeded", "True", "PipelineSuccess");
          assert.equal(Number(at(operation, "status", "attempts")), 1);
          for (const name of NAMES)
            assert.equal(textAt(await get(actor, CONFIG_MAPS, name), "metadata", "name"), `${actor.id}-${name}`);
        },
      },
      {
        name: "delete it",
        act: async (actor) => remove(actor, await get(actor, KIND, "o")),
        expect: async (actor) => {
          for (const name of NAMES) assert.ok(await get(actor, CONFIG_MAPS, name));
        },
      },
    ],
  },
];
