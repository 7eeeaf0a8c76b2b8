import type { Progress } from "@xfn/oci-rootfs";
import { expect, test } from "vitest";
import type { Output } from "./output.ts";
import { pullProgress } from "./pull-progress.ts";

function recorder(interactive = true): Output & { notes: string[]; statuses: (string | undefined)[] } {
  const notes: string[] = [];
  const statuses: (string | undefined)[] = [];
  return {
    notes,
    statuses,
    interactive,
    columns: 80,
    product: async () => undefined,
    note: (line) => void notes.push(line),
    status: (line) => void statuses.push(line),
  };
}

function layer(change: Partial<Progress>): Progress {
  return {
    image: "registry.example/f:1",
    digest: "sha256:a",
    layer: 0,
    layers: 2,
    bytes: 0,
    totalBytes: 100,
    state: "waiting",
    ...change,
  };
}

function clock(): () => number {
  let time = 0;
  return () => (time += 1000);
}

test("prints one line for an image when all its layers are present", () => {
  const output = recorder();
  const onProgress = pullProgress(output, clock());
  onProgress(layer({ state: "done", bytes: 1e6, totalBytes: 1e6 }));
  expect(output.notes).toEqual([]);
  onProgress(layer({ digest: "sha256:b", layer: 1, state: "done", bytes: 2e6, totalBytes: 2e6 }));
  expect(output.notes).toEqual(["pulled registry.example/f:1 (3.0 MB)"]);
  expect(output.statuses.at(-1)).toBeUndefined();
});

test("prints nothing without a terminal", () => {
  const output = recorder(false);
  pullProgress(output, clock())(layer({ layers: 1, state: "done", bytes: 1e6, totalBytes: 1e6 }));
  expect(output.notes).toEqual([]);
});

test("does not mention an image whose layers were all present", () => {
  const output = recorder();
  const onProgress = pullProgress(output, clock());
  onProgress(layer({ state: "present" }));
  onProgress(layer({ digest: "sha256:b", state: "present" }));
  expect(output.notes).toEqual([]);
  expect(output.statuses.filter((status) => status !== undefined)).toEqual([]);
});

test("the status line shows progress, fits the terminal and escapes the name", () => {
  const output = recorder();
  const onProgress = pullProgress(output, clock());
  onProgress(layer({ image: `oci:/x\u001b[31m${"y".repeat(200)}`, state: "pulling", bytes: 50 }));
  const status = output.statuses.at(-1) ?? "";
  expect(status).toMatch(/^unpacking .*50%/);
  expect(status.length).toBeLessThan(80);
  expect(status).not.toContain("\u001b");
});

test("limits the rate of redraws", () => {
  const output = recorder();
  const onProgress = pullProgress(output, () => 5);
  for (let bytes = 0; bytes < 50; bytes += 1) onProgress(layer({ state: "pulling", bytes }));
  expect(output.statuses).toHaveLength(1);
});

test("an image of this machine is unpacked, and a small one has a size", () => {
  const output = recorder();
  const onProgress = pullProgress(output, clock());
  onProgress(layer({ local: true, layers: 1, totalBytes: 2345, state: "pulling" }));
  expect(output.statuses).toEqual([expect.stringMatching(/^unpacking registry\.example\/f:1 \[-+\] 0% of 3 kB$/)]);
  onProgress(layer({ local: true, layers: 1, totalBytes: 2345, state: "done" }));
  expect(output.notes).toEqual(["unpacked registry.example/f:1 (3 kB)"]);
});
