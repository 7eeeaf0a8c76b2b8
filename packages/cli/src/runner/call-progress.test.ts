import type { FunctionRunner } from "@xfn/runner-contract";
import { expect, test } from "vitest";
import { CallProgress } from "./call-progress.ts";

test("the title follows the phases of a call, and the caller still gets them", async () => {
  const progress = new CallProgress();
  const titles: string[] = [];
  const phases: string[] = [];
  const runner: FunctionRunner = {
    run: async (_image, input, options) => {
      titles.push(progress.title());
      for (const phase of ["pull", "start"] as const) {
        options?.onPhase?.(phase, 1);
        titles.push(progress.title());
      }
      return input;
    },
  };
  const input = new Uint8Array([1]);
  const onPhase = (phase: string): void => void phases.push(phase);
  expect(await progress.observe(runner).run("image", input, { step: "db", timeoutMs: 4000, onPhase })).toBe(input);
  expect(titles).toEqual([
    'step "db" waits for its image or runner',
    'step "db" starts its container',
    'step "db" runs (timeout 4 s)',
  ]);
  expect(phases).toEqual(["pull", "start"]);
});
