import { execFileSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { YOUNG_SPACE_BYTES } from "./v8-tuning.ts";

test("the young generation grows to its size and no further", () => {
  // In a separate process, because the young generation of the test process has grown already.
  const program = `
    const { growYoungSpace, youngSpaceBytes } = await import(${JSON.stringify(join(import.meta.dirname, "v8-tuning.ts"))});
    const { setFlagsFromString } = await import("node:v8");
    setFlagsFromString("--semi-space-growth-factor=1");
    const sizes = [youngSpaceBytes()];
    growYoungSpace();
    sizes.push(youngSpaceBytes());
    const kept = [];
    for (let index = 0; index < 300_000; index++) kept.push({ index });
    sizes.push(youngSpaceBytes());
    console.log(JSON.stringify(sizes));
  `;
  const text = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  const [before = 0, ...after] = JSON.parse(text) as number[];
  expect(before).toBeLessThan(YOUNG_SPACE_BYTES);
  expect(after).toEqual([YOUNG_SPACE_BYTES, YOUNG_SPACE_BYTES]);
});
