import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { YOUNG_SPACE_BYTES } from "./v8-tuning.ts";

const MODULE = JSON.stringify(join(import.meta.dirname, "v8-tuning.ts"));

test("a collection in steps returns memory to the system", () => {
  // In a process of its own, because the test process has collections of its own.
  const program = `
    const { startCollecting } = await import(${MODULE});
    const { constants, PerformanceObserver } = await import("node:perf_hooks");
    const kept = Array.from({ length: 200_000 }, (_, index) => ({ index }));
    const isMajor = ({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
    new PerformanceObserver((list) => {
      if (list.getEntries().some(isMajor)) process.exit(kept.length - 200_000);
    }).observe({ entryTypes: ["gc"] });
    startCollecting();
    setTimeout(() => { console.error("no such collection in five minutes"); process.exit(1); }, 300_000);
  `;
  const { status, stdout } = spawnSync(process.execPath, ["--trace-gc", "--input-type=module", "--eval", program], {
    encoding: "utf8",
  });
  expect(status).toBe(0);
  // In V8's words, a collection that reduces memory, in steps.
  expect(stdout).toMatch(/Mark-Compact \(reduce\).* steps since start of marking/);
});

test("the young generation grows to its size and no further", () => {
  // In a separate process, because the young generation of the test process has grown already.
  const program = `
    const { growYoungSpace, youngSpaceBytes } = await import(${MODULE});
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
