import { expect, test } from "vitest";
import { RENDER_GROUPS, RENDER_SETTINGS } from "./render.ts";

test("the help shows each flag in one group", () => {
  expect(Object.values(RENDER_GROUPS).flat().toSorted()).toEqual(Object.keys(RENDER_SETTINGS).toSorted());
});
