import { expect, test } from "vitest";
import { RENDER_SETTINGS } from "./render.ts";

test("the help shows each flag in a group", () => {
  const shown = Object.values(RENDER_SETTINGS).filter(({ hidden }) => hidden !== true);
  expect(shown.filter(({ group }) => group === undefined)).toEqual([]);
});
